"""Speed and scaling, one script per subject: rates, and ratios measured side by side in one run."""
