"""Tokens recognised by their shape: payment, mail, messaging, monitoring and other services."""

from codekernel.masking.rules import MaskRule, is_random
from codekernel.masking.token_rules import EDGE, END

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

SERVICE_TOKEN_RULES = (
    MaskRule("Dropbox token", ("sl.",), rf"{EDGE}sl\.[A-Za-z0-9_=.-]{{130,1400}}"),
    MaskRule("Vault token", ("s.",), r"(?<![\w.])s\.[A-Za-z0-9]{24}(?![\w.(])", 3.5, is_random),
    MaskRule(
        "Stripe key",
        ("sk_", "rk_", "whsec_", "_secret_"),
        rf"{EDGE}(?:(?:sk|rk)_(?:live|test|prod)_[0-9A-Za-z]{{10,250}}|(?:sk|rk)_[0-9A-Za-z]{{16,250}}"
        rf"|sk(?:_test)?_\d{{1,2}}x\d_[0-9a-fA-F]{{64}}|sk_[a-z]{{2,12}}_[A-Za-z0-9-]{{30,100}}"
        rf"|sk_\d{{4}}_\d{{6}}_[a-f0-9]{{32}}|whsec_[0-9A-Za-z+/=]{{16,128}}"
        rf"|(?:pi|seti)_[A-Za-z0-9]{{24}}_secret_[A-Za-z0-9]{{20,40}})(?![A-Za-z0-9])",
        3.0,
    ),
    MaskRule(
        "Square token",
        ("sq0", "eaaa"),
        rf"{EDGE}(?:(?:sandbox-)?sq0[a-z]{{3}}-[0-9A-Za-z_-]{{22,60}}|EAAA[A-Za-z0-9_-]{{22,62}})",
    ),
    MaskRule(
        "PayPal token",
        ("access_token$",),
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}",
    ),
    MaskRule("Razorpay key", ("rzp_",), rf"{EDGE}rzp_(?:live|test)_[A-Za-z0-9]{{14,40}}{END}"),
    MaskRule("Flutterwave key", ("flwseck",), r"FLWSECK(?:_TEST|_LIVE)?-[A-Za-z0-9]{12,40}(?:-X)?"),
    MaskRule(
        "Paystack or Lob key",
        ("live_", "test_"),
        rf"{EDGE}(?:live|test)_(?:pub_)?[a-f0-9]{{31,35}}{END}",
    ),
    MaskRule(
        "Mollie or Adyen key",
        ("live_", "test_", "aqe"),
        rf"{EDGE}(?:(?:live|test)_[A-Za-z0-9]{{30,44}}|AQE[A-Za-z0-9+/=]{{60,400}}){END}",
        3.7,
        is_random,
    ),
    MaskRule("EasyPost key", ("ezak", "eztk"), rf"{EDGE}EZ[AT]K[A-Za-z0-9]{{54}}{END}"),
    MaskRule("Shippo token", ("shippo_",), r"shippo_(?:live|test)_[a-fA-F0-9]{40}"),
    MaskRule("Duffel token", ("duffel_",), r"duffel_(?:test|live)_[A-Za-z0-9_=-]{43}"),
    MaskRule(
        "Shopify token",
        ("shpat_", "shpca_", "shppa_", "shpss_", "shptka_", "shpua_"),
        r"shp(?:at|ca|pa|ss|tka|ua)_[a-fA-F0-9]{32}",
    ),
    MaskRule(
        "Plaid token", ("access-",), rf"{EDGE}access-(?:sandbox|development|production)-{_UUID}"
    ),
    MaskRule("Coinbase key", ("organizations/",), rf"organizations/{_UUID}/apiKeys/{_UUID}"),
    MaskRule("Ramp key", ("ramp_",), r"ramp_(?:id|sec)_[A-Za-z0-9]{40,48}"),
    MaskRule("SendGrid key", ("sg.",), rf"{EDGE}SG\.[\w=.-]{{50,100}}"),
    MaskRule(
        "Sendinblue key",
        ("xkeysib-", "xsmtpsib-"),
        r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}",
    ),
    MaskRule("Mailgun key", ("key-", "pubkey-"), rf"{EDGE}(?:pub)?key-[a-f0-9]{{32}}{END}"),
    MaskRule(
        "Mailgun key", ("-",), rf"{EDGE}[a-f0-9]{{32}}-[a-f0-9]{{8}}-[a-f0-9]{{8}}{END}", min_run=50
    ),
    MaskRule("Mailchimp key", ("-us",), rf"{EDGE}[a-f0-9]{{32}}-us\d{{1,2}}{END}"),
    MaskRule("Mandrill key", ("md-",), rf"{EDGE}md-[A-Za-z0-9_-]{{22}}(?![\w-])", 3.3, is_random),
    MaskRule(
        "Resend key", ("re_",), rf"{EDGE}re_[A-Za-z0-9]{{6,12}}_[A-Za-z0-9]{{20,40}}{END}", 3.3
    ),
    MaskRule("Postman key", ("pmak-",), r"PMAK-[A-Za-z0-9]{20,30}-[A-Za-z0-9]{30,40}"),
    MaskRule("Klaviyo key", ("pk_",), rf"{EDGE}pk_(?:[A-Za-z0-9]{{6}}_)?[0-9a-f]{{34}}{END}"),
    MaskRule(
        "Slack token", ("xox",), EDGE + r"xox(?:[abeoprs]|e\.xox[bp])-[A-Za-z0-9-]{10,255}", 2.5
    ),
    MaskRule(
        "Slack token",
        ("xapp-", "xwfp-"),
        r"x(?:app|wfp)-\d?-?[A-Za-z0-9]{6,20}-[A-Za-z0-9-]{20,255}",
        2.5,
    ),
    MaskRule(
        "Discord token",
        (".",),
        rf"{EDGE}[MNO][A-Za-z0-9_-]{{23,27}}\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,40}}(?![\w-])",
        4.0,
        min_run=58,
    ),
    MaskRule(
        "Telegram token", (":aa",), r"(?<!\d)\d{8,12}:AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])"
    ),
    MaskRule(
        "Twilio key",
        ("sk", "ac"),
        rf"{EDGE}(?:SK|AC)(?:[0-9a-f]{{32}}|[0-9A-F]{{32}}){END}",
        min_run=34,
    ),
    MaskRule("Intercom token", ("dg9r",), rf"{EDGE}dG9r[A-Za-z0-9+/]{{30,80}}={{0,2}}"),
    MaskRule("Facebook token", ("eaa",), rf"{EDGE}EAA[A-Za-z0-9]{{60,400}}{END}", 3.8),
    MaskRule(
        "Facebook token",
        ("|", "%7c"),
        r"(?<!\d)\d{15,17}(?:\||%7[Cc])[A-Za-z0-9_-]{27,40}(?![\w-])",
        3.5,
    ),
    MaskRule("Instagram token", ("igq",), rf"{EDGE}IGQ[A-Za-z0-9_-]{{60,300}}", 3.5),
    MaskRule("Twitter token", ("aaaaaaaaaaaaaaaa",), r"A{20,22}[A-Za-z0-9%]{60,120}", 3.0),
    MaskRule("LinkedIn secret", ("wpl_ap",), r"WPL_AP\d\.[A-Za-z0-9]{16}\.[A-Za-z0-9+/=]{6,12}"),
    MaskRule(
        "Figma token", ("figd_", "figp_", "figoh_"), r"fig(?:d|p|oh|u|or)_[A-Za-z0-9_=-]{36,64}"
    ),
    MaskRule(
        "Notion token",
        ("ntn_", "secret_"),
        rf"{EDGE}(?:ntn_[A-Za-z0-9]{{40,60}}|secret_[A-Za-z0-9]{{16,64}}){END}",
        3.6,
    ),
    MaskRule("Airtable token", ("pat",), rf"{EDGE}pat[A-Za-z0-9]{{14}}\.[a-f0-9]{{64}}{END}"),
    MaskRule(
        "Asana token",
        ("/", ":"),
        rf"{EDGE}\d{{1,2}}/\d{{12,20}}(?:/\d{{12,20}})?:[a-f0-9]{{32,64}}{END}",
        min_run=46,
    ),
    MaskRule("Linear key", ("lin_",), r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    MaskRule("ClickUp or Monday token", ("pk_",), rf"{EDGE}pk_\d{{5,10}}_[A-Z0-9]{{32}}{END}"),
    MaskRule("HubSpot token", ("pat-",), rf"{EDGE}pat-(?:na|eu|ap)\d-{_UUID}"),
    MaskRule(
        "Salesforce token",
        ("00d", "3mvg9", "5aep861"),
        rf"{EDGE}(?:00D[A-Za-z0-9]{{12,15}}![A-Za-z0-9_.]{{60,120}}"
        rf"|3MVG9[0-9A-Za-z._+/=]{{60,251}}|5Aep861[A-Za-z0-9._=]{{60,251}})",
    ),
    MaskRule("Zoho token", ("1000.",), rf"{EDGE}1000\.[a-f0-9]{{32}}\.[a-f0-9]{{32}}{END}"),
    MaskRule("Contentful token", ("cfpat-",), r"CFPAT-[A-Za-z0-9_-]{40,46}"),
    MaskRule("Typeform token", ("tfp_",), rf"{EDGE}tfp_[A-Za-z0-9_.=-]{{40,64}}"),
    MaskRule("Airship or Adafruit key", ("aio_",), rf"{EDGE}aio_[A-Za-z0-9]{{28}}{END}"),
    MaskRule("Apify token", ("apify_api_",), r"apify_api_[A-Za-z0-9-]{30,40}"),
    MaskRule(
        "Mapbox token",
        ("sk.ey", "pk.ey", "sk.", "pk."),
        rf"{EDGE}(?:sk|pk|tk)\.eyJ[A-Za-z0-9_-]{{30,300}}\.[A-Za-z0-9_-]{{20,40}}",
    ),
    MaskRule("LocationIQ key", ("pk.",), rf"{EDGE}pk\.[a-f0-9]{{32}}{END}"),
    MaskRule(
        "Grafana token",
        ("glsa_", "glc_", "eyjrijoi"),
        r"(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,400}={0,3}"
        r"|eyJrIjoi[A-Za-z0-9+/]{40,400}={0,3})",
    ),
    MaskRule(
        "Databricks token",
        ("dapi", "dkea", "dose"),
        rf"{EDGE}d(?:api|kea|ose)[a-f0-9]{{32}}(?:-\d)?{END}",
    ),
    MaskRule(
        "New Relic key",
        ("nrak-", "nrjs-", "nrii-", "nriq-", "nrra-", "nrbr-", "nral", "nrma"),
        rf"{EDGE}(?:NR(?:AK|JS|II|IQ|RA|BR|SP)-[A-Za-z0-9_-]{{19,42}}|[0-9a-fx]{{26,36}}"
        rf"(?:FFFF)?NRAL|(?:AA|eu01xx)[0-9a-f]{{36,40}}-NRMA)",
    ),
    MaskRule("Dynatrace token", ("dt0",), r"dt0[a-z]\d{2}\.[A-Za-z0-9]{8,24}\.[A-Za-z0-9]{64}"),
    MaskRule(
        "Datadog token",
        ("ddp_", "ddw_", "ddapp_"),
        rf"{EDGE}dd(?:p|w|app)_[A-Za-z0-9]{{34,40}}{END}",
    ),
    MaskRule("Sentry token", ("sntry",), r"sntry[a-z]_[A-Za-z0-9+/=_-]{40,400}"),
    MaskRule(
        "Honeycomb key",
        ("hcaik_", "hcbik_", "hcxik_", "hcamk_"),
        r"hc[a-z](?:ik|mk|lk)_[A-Za-z0-9]{32,80}",
    ),
    MaskRule("PostHog key", ("phx_", "phs_"), rf"{EDGE}ph[xs]_[A-Za-z0-9_]{{32,64}}"),
    MaskRule(
        "Sourcegraph token",
        ("sgp_", "slk_", "sgd_"),
        rf"{EDGE}(?:sgp_(?:[a-fA-F0-9]{{16}}_|local_)?[a-fA-F0-9]{{40}}|sgd_\w{{40,64}}"
        rf"|slk_[a-f0-9]{{64}})",
    ),
    MaskRule(
        "SonarQube token",
        ("squ_", "sqp_", "sqa_", "sqco_"),
        rf"{EDGE}sq(?:u|p|a|co)_[A-Za-z0-9]{{40,60}}{END}",
    ),
    MaskRule(
        "Buildkite token",
        ("bkua_", "bkct_", "bkpt_"),
        rf"{EDGE}bk(?:ua|ct|pt|aj)_[A-Za-z0-9]{{40,64}}{END}",
    ),
    MaskRule(
        "CircleCI token", ("ccipat_", "cciprj_"), r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{22}_[A-Fa-f0-9]{40}"
    ),
    MaskRule(
        "Harness token",
        ("pat.", "sat."),
        rf"{EDGE}[ps]at\.[A-Za-z0-9_-]{{22}}\.[A-Za-z0-9]{{24}}\.[A-Za-z0-9]{{20}}",
    ),
    MaskRule("Octopus key", ("api-",), rf"{EDGE}API-[A-Z0-9]{{25,32}}{END}", 3.0),
    MaskRule(
        "LaunchDarkly key",
        ("api-", "sdk-", "mob-"),
        rf"{EDGE}(?:api|sdk|mob)-[a-z0-9]{{8}}-(?:[a-z0-9]{{4}}-){{3}}[a-z0-9]{{12}}{END}",
    ),
    MaskRule("Prefect key", ("pnu_", "pnb_"), rf"{EDGE}pn[ub]_[A-Za-z0-9]{{36}}{END}"),
    MaskRule("PlanetScale token", ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,64}"),
    MaskRule(
        "Supabase key", ("sbp_", "sb_secret_"), r"sb(?:p_[a-z0-9]{40}|_secret_[A-Za-z0-9_-]{20,50})"
    ),
    MaskRule(
        "Neon or Xata key", ("napi_", "xau_"), rf"{EDGE}(?:napi|xau)_[a-zA-Z0-9]{{30,80}}{END}"
    ),
    MaskRule(
        "Snowflake or Tailscale key",
        ("tskey-",),
        r"tskey-[a-z]+-[0-9A-Za-z_]+(?:-[0-9A-Za-z_]+){0,3}",
    ),
    MaskRule("ClickHouse key", ("4b1d",), rf"{EDGE}4b1d[A-Za-z0-9]{{38}}{END}", 3.3),
    MaskRule("MaxMind key", ("_mmk",), rf"{EDGE}[A-Za-z0-9]{{6}}_[A-Za-z0-9]{{29}}_mmk{END}"),
    MaskRule("OpenShift token", ("sha256~",), r"sha256~[\w-]{43}"),
    MaskRule("Adobe secret", ("p8e-",), rf"{EDGE}p8e-[A-Za-z0-9_-]{{20,40}}"),
    MaskRule("Frame.io token", ("fio-u-",), r"fio-u-[A-Za-z0-9_=-]{64}"),
    MaskRule("ReadMe key", ("rdme_",), r"rdme_[a-z0-9]{60,80}"),
    MaskRule("Infracost key", ("ico-",), rf"{EDGE}ico-[A-Za-z0-9]{{32}}{END}"),
    MaskRule("Scalingo token", ("tk-us-",), r"tk-us-[\w-]{48}"),
    MaskRule("SettleMint token", ("sm_",), r"sm_[aps]at_[A-Za-z0-9]{16,40}"),
    MaskRule("Intra42 secret", ("s4t2",), r"[su]-s4t2(?:ud|af)-[a-f0-9]{64}"),
    MaskRule(
        "Defined Networking token", ("dnkey-",), r"dnkey-[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}"
    ),
    MaskRule(
        "Authress key",
        (".acc_", ".acc-"),
        r"(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}",
    ),
    MaskRule("Beamer token", ("b_",), rf"{EDGE}b_[A-Za-z0-9=_-]{{44}}(?![\w=-])", 4.2),
    MaskRule("Voiceflow key", ("vf.",), r"VF\.(?:(?:DM|WS)\.)?[a-fA-F0-9]{24}\.[A-Za-z0-9]{16}"),
    MaskRule("Rootly key", ("rootly_",), r"rootly_[a-f0-9]{64}"),
    MaskRule("Ubidots token", ("bbff-",), rf"{EDGE}BBFF-[0-9A-Za-z]{{30}}"),
    MaskRule("Netlify token", ("nfp_",), rf"{EDGE}nfp_[A-Za-z0-9]{{36}}{END}"),
    MaskRule(
        "Vercel token",
        ("vcp_", "vercel_blob_rw_"),
        rf"{EDGE}(?:vcp_[A-Za-z0-9]{{24,60}}|vercel_blob_rw_[A-Za-z0-9_]{{30,60}}){END}",
    ),
    MaskRule("Telnyx key", ("key0",), rf"{EDGE}KEY0[0-9A-F]{{30,34}}_[A-Za-z0-9]{{20,26}}"),
    MaskRule("Portainer token", ("ptr_",), rf"{EDGE}ptr_[A-Za-z0-9/_+=-]{{40,60}}", 4.0),
    MaskRule(
        "Wallet key", ("xprv", "zprv"), rf"{EDGE}[xyz]prv[A-HJ-NP-Za-km-z1-9]{{100,112}}{END}"
    ),
    MaskRule("Nostr key", ("nsec1",), rf"{EDGE}nsec1[a-z0-9]{{58}}{END}"),
    MaskRule("Aiven token", ("aivenv1",), r"aivenv1[A-Za-z0-9+/=]{40,400}"),
    MaskRule("Tines or Endor token", ("endr+",), r"endr\+[A-Za-z0-9-]{16}"),
    MaskRule("Salad key", ("salad_cloud_",), r"salad_cloud_[0-9A-Za-z]{1,7}_[0-9A-Za-z]{7,235}"),
    MaskRule("Robinhood key", ("rh-api-",), rf"rh-api-{_UUID}"),
    MaskRule(
        "Stytch or Sardine secret",
        ("secret-",),
        rf"{EDGE}secret-(?:test|live)-[A-Za-z0-9_=-]{{30,60}}",
    ),
    MaskRule(
        "WorkOS or Clerk key",
        ("sk_test_", "sk_live_"),
        rf"{EDGE}sk_(?:test|live)_[A-Za-z0-9=]{{30,120}}",
    ),
)
