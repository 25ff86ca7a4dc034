"""Secrets taken out of every text that goes to a model, into a log or into an error message.

``masker``         the one entry for text: which rules look, how what they find is replaced
``outgoing``       the last gate before a chat model: every message of every request
``rules``          what a rule is, and how a table of them is scanned
``token_rules`` ``token_rules_more``    keys that are known by their shape, as data
``syntax_rules``   credentials known by what stands around them: headers, URLs, commands, files
``private_keys``   keys of many lines, also when a chunk holds a part of them only
``assigned``       values that are assigned to a name: passwords, tokens, keys without a shape
``names``          which names are those of secrets
``randomness`` ``placeholders``         whether a value was generated, and whether it is a stand-in
``known_secrets``  values that are known to be secret, removed in every encoding

The facts (prefixes, alphabets, lengths, nearness of names) are those published in the rule sets of
gitleaks, trufflehog and detect-secrets; ``scripts/benchmarks/trust_secrets.py`` measures them.
"""
