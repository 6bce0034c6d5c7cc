"""What everything stands on: units, histograms, text and lists of CPUs. Nothing here imports anything of ours."""
