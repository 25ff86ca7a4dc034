"""The user's settings: settings.json, its validation, the bundled models.

Modules, in the order data meets them:

    loading.py        settings.json -> Settings, strict or lenient
    validation.py     rules, requirements and warnings
    local_models.py   bundled models and default settings
    merging.py        the models of another settings.json
    chat_models.py    the chat model that is asked, and how to set one up
    live.py           the settings in force, and their listeners
"""
