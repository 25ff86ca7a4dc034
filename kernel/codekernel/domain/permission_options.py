"""What may be chosen for a permission besides yes and no, by ``option_id``."""

# ``option_id`` by which our own agent is allowed all further calls of a kind.
ALLOW_TURN_OPTION = "allow_turn"

# The same, for whatever the rule of a permission allows; and for some hunks of an edit, such as
# "hunks:0,2".
ALLOW_RULE_OPTION = "allow_rule"
HUNKS_OPTION_PREFIX = "hunks:"
