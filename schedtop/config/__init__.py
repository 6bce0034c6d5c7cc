"""The user's config file: what its keys mean, where it is, how it is read and how choices get into it."""
