"""Mask secrets in every text that goes to a model, into a log or into an error message.

Prefixes, alphabets and lengths are those published by gitleaks, trufflehog and detect-secrets;
scripts/benchmarks/trust_secrets.py measures them.

Modules, in the order data meets them:

    message_fields.py
    rules.py
    token_rules.py
    service_token_rules.py
    context_rules.py
    syntax_rules.py
    assignments.py
    masker.py
"""
