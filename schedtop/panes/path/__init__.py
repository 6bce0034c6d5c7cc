"""The path of a task across others on the screen: a sentence, the profile, the episodes as trees."""
