"""A capture as files for trace viewers."""
