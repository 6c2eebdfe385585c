"""What the site needs beside Zensical: two extensions of Markdown."""
