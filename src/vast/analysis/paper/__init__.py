"""The paper's figures, one file each: records of runs in, a figure out."""
