"""The kinds of secrets of the campaign ``secrets``, as shapes; values are drawn at run time.

The shapes are the published ones (gitleaks, trufflehog, detect-secrets). No value stands here: a
shape has its random parts in braces, ``{hex:32}`` for instance, so that no scanner of repositories
finds a key in this file. A kind is *shaped* if its value can be told by itself; the others are told
by the name they are assigned to, or by what stands around them.
"""

import random
import re
import string
from dataclasses import dataclass

_HEX = "0123456789abcdef"
_BASE32 = string.ascii_uppercase + "234567"
ALPHABETS = {
    "hex": _HEX,
    "HEX": _HEX.upper(),
    "digits": string.digits,
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + string.digits,
    "letters": string.ascii_letters,
    "small": string.ascii_lowercase,
    "word": string.ascii_letters + string.digits,
    "url": string.ascii_letters + string.digits + "_-",
    "b64": string.ascii_letters + string.digits + "+/",
    "b32": _BASE32,
    "b58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "bech": "qpzry9x8gf2tvdw0s3jn54khce6mua7l".upper(),
    "strong": string.ascii_letters + string.digits + "!@#%^*_+=?-",
}
_PART = re.compile(r"\{(?P<kind>\w+)(?::(?P<count>\d+))?\}")

DEFAULT_VARIABLE = "SERVICE_API_KEY"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of secret: the shape of its value and the name it is usually assigned to."""

    name: str
    shape: str
    variable: str
    shaped: bool


def draw(shape: str, rng: random.Random) -> str:
    """Return a value of this shape."""

    def part(match: re.Match[str]) -> str:
        if match["kind"] == "uuid":
            return "-".join("".join(rng.choices(_HEX, k=size)) for size in (8, 4, 4, 4, 12))
        return "".join(rng.choices(ALPHABETS[match["kind"]], k=int(match["count"])))

    return _PART.sub(part, shape)


def _read_kinds(rows: str, *, shaped: bool) -> tuple[Kind, ...]:
    """Parse a table of name, shape and perhaps the usual variable."""
    table = (row.split() for row in rows.strip().splitlines())
    return tuple(
        Kind(name, shape, variable[0] if variable else DEFAULT_VARIABLE, shaped=shaped)
        for name, shape, *variable in table
    )


_SHAPED_ROWS = """
aws-access-key AKIA{b32:16} AWS_ACCESS_KEY_ID
aws-session-key ASIA{b32:16} AWS_ACCESS_KEY_ID
aws-bedrock ABSK{b64:112} BEDROCK_KEY
aws-appsync da2-{lower:26} APPSYNC
azure-client-secret {word:3}8Q~{url:34} AZURE_CLIENT_SECRET
google-api-key AIza{url:35} GOOGLE_MAPS
google-oauth-secret GOCSPX-{url:28} GOOGLE_CLIENT_SECRET
google-access-token ya29.{url:120} GOOGLE_TOKEN
google-refresh-token 1//0{url:60} GOOGLE_REFRESH_TOKEN
alibaba-id LTAI{word:20} ALIBABA_ID
digitalocean-pat dop_v1_{hex:64} DO_PAT
digitalocean-oauth doo_v1_{hex:64} DO_OAUTH
digitalocean-refresh dor_v1_{hex:64} DO_REFRESH
heroku-v2 HRKU-AA{url:58} HEROKU
fly-io fo1_{url:43} FLY_API_TOKEN
cloudflare-origin v1.0-{hex:24}-{hex:146} CF_ORIGIN_CA
github-pat ghp_{word:36} GITHUB_TOKEN
github-oauth gho_{word:36} GITHUB_OAUTH
github-app ghs_{word:36} GH_APP
github-refresh ghr_{word:36} GH_REFRESH
github-fine github_pat_{word:22}_{word:59} GITHUB_TOKEN
gitlab-pat glpat-{url:20} GITLAB_TOKEN
gitlab-deploy gldt-{url:20} GITLAB_DEPLOY
gitlab-runner glrt-{url:20} RUNNER
gitlab-pipeline glptt-{hex:40} PIPELINE
gitlab-feed glft-{url:20} FEED
bitbucket-app ATBB{word:32} BITBUCKET_APP_PASSWORD
atlassian ATATT3{url:186} JIRA_API_TOKEN
openai sk-{word:20}T3BlbkFJ{word:20} OPENAI_API_KEY
openai-project sk-proj-{url:74}T3BlbkFJ{url:74} OPENAI_API_KEY
anthropic sk-ant-api03-{url:93}AA ANTHROPIC_API_KEY
openrouter sk-or-v1-{hex:64} OPENROUTER
huggingface hf_{letters:34} HF_TOKEN
xai xai-{word:80} XAI
groq gsk_{word:52} GROQ
perplexity pplx-{word:48} PPLX
replicate r8_{word:37} REPLICATE
nvidia nvapi-{url:64} NVIDIA
langsmith lsv2_pt_{hex:32}_{hex:10} LANGSMITH
pinecone pcsk_{word:6}_{word:63} PINECONE
npm npm_{word:36} NPM_TOKEN
pypi pypi-AgEIcHlwaS5vcmc{url:100} PYPI
rubygems rubygems_{hex:48} GEM_HOST
nuget oy2{lower:43} NUGET
crates-io cio{word:32} CARGO_REGISTRY_TOKEN
clojars CLOJARS_{lower:60} CLOJARS
docker-pat dckr_pat_{url:27} DOCKERHUB
artifactory AKCp{word:69} ARTIFACTORY
terraform {word:14}.atlasv1.{url:66} TFE
vault-service hvs.{url:95} VAULT_TOKEN
vault-batch hvb.{url:150} VAULT_TOKEN
pulumi pul-{hex:40} PULUMI
doppler dp.pt.{word:43} DOPPLER
onepassword A3-{upper:6}-{upper:6}-{upper:5}-{upper:5}-{upper:5}-{upper:5} OP
age AGE-SECRET-KEY-1{bech:58} AGE
jwt eyJ{url:30}.eyJ{url:60}.{url:43} JWT
stripe-live sk_live_{word:24} STRIPE
stripe-restricted rk_live_{word:24} STRIPE
stripe-test sk_test_{word:24} STRIPE
stripe-webhook whsec_{word:32} STRIPE_WEBHOOK
square sq0atp-{url:22} SQUARE
square-secret sq0csp-{url:43} SQUARE
razorpay rzp_live_{word:14} RAZORPAY
flutterwave FLWSECK-{lower:32}-X FLW
easypost EZAK{word:54} EASYPOST
shippo shippo_live_{hex:40} SHIPPO
duffel duffel_live_{url:43} DUFFEL
shopify-access shpat_{hex:32} SHOPIFY
shopify-secret shpss_{hex:32} SHOPIFY
shopify-custom shpca_{hex:32} SHOPIFY
plaid access-production-{uuid} PLAID
sendgrid SG.{url:22}.{url:43} SENDGRID
sendinblue xkeysib-{hex:64}-{word:16} BREVO
mailgun key-{hex:32} MAILGUN
mailchimp {hex:32}-us12 MAILCHIMP
resend re_{word:8}_{word:24} RESEND
postman PMAK-{hex:24}-{hex:34} POSTMAN
slack-bot xoxb-{digits:12}-{digits:12}-{word:24} SLACK
slack-user xoxp-{digits:12}-{digits:12}-{digits:12}-{hex:32} SLACK
slack-app xapp-1-A{upper:10}-{digits:13}-{hex:64} SLACK
slack-config xoxe.xoxp-1-{word:163} SLACK
slack-webhook https://hooks.slack.com/services/T{upper:8}/B{upper:8}/{word:24} SLACK_URL
discord-webhook https://discord.com/api/webhooks/{digits:18}/{url:68} DISCORD_URL
ms-webhook https://a.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{hex:32}/{uuid} MS
zapier-webhook https://hooks.zapier.com/hooks/catch/{digits:8}/{word:8} ZAP
discord-bot M{word:23}.{url:6}.{url:38} DISCORD
telegram {digits:10}:AA{url:33} TELEGRAM
twilio SK{hex:32} TWILIO
facebook EAAC{word:120} FB
figma figd_{url:40} FIGMA
notion ntn_{digits:11}{word:35} NOTION
airtable pat{word:14}.{hex:64} AIRTABLE
asana 1/{digits:16}:{hex:32} ASANA
linear lin_api_{word:40} LINEAR
hubspot pat-na1-{uuid} HUBSPOT
salesforce 00D{word:12}!{word:96} SALESFORCE
zoho 1000.{hex:32}.{hex:32} ZOHO
contentful CFPAT-{url:43} CONTENTFUL
typeform tfp_{url:59} TYPEFORM
apify apify_api_{word:36} APIFY
mapbox sk.eyJ{word:60}.{url:22} MAPBOX
grafana-service glsa_{word:32}_{hex:8} GRAFANA
grafana-cloud glc_{b64:80} GRAFANA
databricks dapi{hex:32} DATABRICKS
new-relic NRAK-{upper:27} NEW_RELIC
new-relic-insert NRII-{url:32} NEW_RELIC
dynatrace dt0c01.{upper:24}.{upper:64} DYNATRACE
sentry-user sntryu_{hex:64} SENTRY
sourcegraph sgp_{hex:40} SRC_ACCESS
sonarqube squ_{hex:40} SONAR
buildkite bkua_{hex:40} BUILDKITE
circleci CCIPAT_{word:22}_{hex:40} CIRCLE
harness pat.{url:22}.{word:24}.{word:20} HARNESS
octopus API-{upper:26} OCTOPUS
launchdarkly sdk-{uuid} LD_SDK
prefect pnu_{word:36} PREFECT
planetscale pscale_pw_{url:43} PSCALE
planetscale-token pscale_tkn_{url:43} PSCALE
supabase sbp_{hex:40} SUPABASE
tailscale tskey-auth-{word:17}-{word:32} TS
clickhouse 4b1d{word:38} CLICKHOUSE
maxmind {word:6}_{word:29}_mmk MAXMIND
openshift sha256~{url:43} OC
adobe p8e-{lower:32} ADOBE
frameio fio-u-{url:64} FRAMEIO
readme rdme_{lower:70} README
infracost ico-{word:32} INFRACOST
settlemint sm_pat_{word:16} SETTLEMINT
posthog phx_{word:43} POSTHOG
netlify nfp_{word:36} NETLIFY
wallet-xprv xprv{b58:107} WALLET
"""

# Told by their name; some of these services have no shape of their own at all.
_NAMED_ROWS = """
azure-storage {b64:86}== AZURE_STORAGE_KEY
aws-secret {b64:40} AWS_SECRET_ACCESS_KEY
datadog-api {hex:32} DATADOG_API_KEY
datadog-app {hex:40} DD_APP_KEY
algolia {hex:32} ALGOLIA_ADMIN_API_KEY
adafruit {lower:32} ADAFRUIT_API_KEY
amplitude {hex:32} AMPLITUDE_SECRET_KEY
asana-client {lower:32} ASANA_CLIENT_SECRET
bitbucket-client {url:32} BITBUCKET_CLIENT_SECRET
cloudflare-global {hex:37} CLOUDFLARE_API_KEY
cloudflare-token {url:40} CLOUDFLARE_API_TOKEN
codecov {uuid} CODECOV_TOKEN
coinbase {word:64} COINBASE_API_SECRET
confluent {b64:64} CONFLUENT_API_SECRET
discord-client {url:32} DISCORD_CLIENT_SECRET
drone {word:32} DRONE_TOKEN
dropbox {lower:15} DROPBOX_APP_SECRET
etsy {lower:24} ETSY_ACCESS_TOKEN
fastly {url:32} FASTLY_API_TOKEN
finnhub {lower:20} FINNHUB_API_KEY
flickr {hex:32} FLICKR_SECRET
freshdesk {word:20} FRESHDESK_API_KEY
heroku {uuid} HEROKU_API_KEY
intercom {b64:60} INTERCOM_ACCESS_TOKEN
jenkins {hex:34} JENKINS_API_TOKEN
kraken {b64:86}== KRAKEN_PRIVATE_KEY
kucoin {uuid} KUCOIN_SECRET_KEY
lastfm {hex:32} LASTFM_SHARED_SECRET
linkedin {word:16} LINKEDIN_CLIENT_SECRET
looker {lower:24} LOOKER_CLIENT_SECRET
mailjet {hex:32} MAILJET_SECRET_KEY
mattermost {lower:26} MATTERMOST_ACCESS_TOKEN
messagebird {word:25} MESSAGEBIRD_ACCESS_KEY
mistral {word:32} MISTRAL_API_KEY
cohere {word:40} COHERE_API_KEY
mixpanel {hex:32} MIXPANEL_SECRET
netlify-token {url:43} NETLIFY_AUTH_TOKEN
nytimes {word:32} NYTIMES_API_KEY
okta {url:42} OKTA_API_TOKEN
openweather {hex:32} OPENWEATHER_API_KEY
opsgenie {uuid} OPSGENIE_API_KEY
pagerduty {url:20} PAGERDUTY_TOKEN
paypal {url:80} PAYPAL_CLIENT_SECRET
plaid-secret {hex:30} PLAID_SECRET
postmark {uuid} POSTMARK_SERVER_TOKEN
pusher {hex:20} PUSHER_APP_SECRET
rapidapi {lower:50} RAPIDAPI_KEY
reddit {url:30} REDDIT_CLIENT_SECRET
rollbar {hex:32} ROLLBAR_ACCESS_TOKEN
segment {word:32} SEGMENT_WRITE_KEY
sendbird {hex:40} SENDBIRD_API_TOKEN
sentry {hex:64} SENTRY_AUTH_TOKEN
snyk {uuid} SNYK_TOKEN
sonar {hex:40} SONAR_TOKEN
spotify {hex:32} SPOTIFY_CLIENT_SECRET
squarespace {uuid} SQUARESPACE_ACCESS_TOKEN
sumologic {word:64} SUMOLOGIC_ACCESS_KEY
travis {word:22} TRAVIS_TOKEN
trello {hex:64} TRELLO_TOKEN
twilio-auth {hex:32} TWILIO_AUTH_TOKEN
twitch {lower:30} TWITCH_CLIENT_SECRET
twitter-secret {word:50} TWITTER_API_SECRET
twitter-access {word:45} TWITTER_ACCESS_TOKEN_SECRET
vercel {word:24} VERCEL_TOKEN
virustotal {hex:64} VIRUSTOTAL_API_KEY
wandb {hex:40} WANDB_API_KEY
yandex-secret {url:40} YANDEX_SECRET_KEY
zendesk {word:40} ZENDESK_API_TOKEN
zoom {word:32} ZOOM_CLIENT_SECRET
django {strong:50} DJANGO_SECRET_KEY
rails {hex:128} SECRET_KEY_BASE
laravel base64:{b64:43}= APP_KEY
wireguard {b64:43}= WG_PRIVATE_KEY
ethereum 0x{hex:64} ETH_PRIVATE_KEY
encryption {hex:64} ENCRYPTION_KEY
session {url:48} SESSION_SECRET
jwt-secret {word:32} JWT_SECRET
totp {b32:32} TOTP_SECRET
password-long {strong:16} DB_PASSWORD
password-word {word:12} POSTGRES_PASSWORD
password-short {word:8} MYSQL_PASSWORD
password-small {lower:10} REDIS_PASSWORD
smtp-password {word:14} SMTP_PASS
admin-password {strong:12} ADMIN_PASSWD
root-pwd {word:10} MSSQL_SA_PWD
passphrase {word:20} KEY_PASSPHRASE
keystore {word:12} KEYSTORE_PASSWORD
"""

SHAPED = _read_kinds(_SHAPED_ROWS, shaped=True)
NAMED = _read_kinds(_NAMED_ROWS, shaped=False)
