"""Mask secrets in every text that goes to a model, into a log or into an error message.

Prefixes, alphabets and lengths are those published by gitleaks, trufflehog and detect-secrets;
scripts/benchmarks/trust_secrets.py measures them.

Modules, in the order data meets them:

    masker.py        mask_secrets: finds spans by rules, those of rule_files/*.txt first
    assignments.py   values assigned to names such as password
    values.py        the checks of a value: random, placeholder, password, token
"""
