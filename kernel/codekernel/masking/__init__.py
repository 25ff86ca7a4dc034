"""Mask secrets in every text that goes to a model, into a log or into an error message.

Prefixes, alphabets and lengths are those published by gitleaks, trufflehog and detect-secrets;
scripts/benchmarks/trust_secrets.py measures them.

Modules, in the order data meets them:

    message_fields.py   fields of messages that are secret by name
    masker.py           mask_secrets: finds spans by all rules below and replaces them
    rules.py            MaskRule, its scan, and the checks for entropy, words and placeholders
    token_rules.py      tokens by their shape, from token_rules.tsv
    context_rules.py    private keys, and keys by the service named beside them
    syntax_rules.py     secrets by the syntax around them: URLs, headers, Kubernetes
    assignments.py      values assigned to names such as password
"""
