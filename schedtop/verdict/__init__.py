"""What keeps tasks waiting, in words: facts, rules, and the explanation of one wait."""
