"""Config files of coding agents: our MCP server in them, with everything else as it was.

Modules, in the order data meets them:

    machine.py          where programs keep their settings; the command of our server
    clients.py          the agents: one declaration for each
    targets.py          which entry of which file is for which agents
    text_edits.py       what formats share: style, errors, one edit
    json_text.py        JSON with and without comments
    yaml_text.py        YAML
    formats.py          formats by name; TOML, marked blocks, whole files
    config_file.py      read and replace one file; what was written, in userData
    installer.py        plan and carry out
"""
