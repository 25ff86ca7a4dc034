"""Mask secrets in every text that goes to a model, into a log or into an error message.

Prefixes, alphabets and lengths are those published by gitleaks, trufflehog and detect-secrets;
scripts/benchmarks/trust_secrets.py measures them.

Modules, in the order data meets them:

    message_fields.py   fields of messages that are secret by name
    masker.py           mask_secrets: finds spans by all rules below and replaces them
    rules.py            MaskRule, its scan, and the checks for entropy, words and placeholders
    rule_files.py       reads rule_files/*.txt: tokens, private keys, context, syntax
    credentials.py      checks of passwords and tokens, Kubernetes Secrets
    key_material.py     keys without a name
    assignments.py      values assigned to names such as password
"""
