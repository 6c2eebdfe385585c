"""What users install: the wheel and the sdist, the extras, and the files about the project."""
