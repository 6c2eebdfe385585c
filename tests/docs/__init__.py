"""What README and docs say: their code runs, their commands exist, their links lead somewhere."""
