"""Charts over the whole history."""
