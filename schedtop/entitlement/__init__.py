"""What the weights entitle a task to, against what it got: pure computing, over what was read of the competitors."""
