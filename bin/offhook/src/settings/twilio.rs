//! `twilio`: the deployment's account at Twilio, and where Twilio reaches this process.

use offhook_twilio::{Login, TwilioSettings};

use super::given::Given;
use super::values::{base_url, origin};
use super::{HttpSettings, Result, SettingsError};

/// Reads everything of `twilio`; `is_carrier` says whether it is of any effect, `is_shared` whether there may be other
/// processes beside this one.
pub(super) fn twilio(
    given: &mut Given,
    is_carrier: bool,
    http: &HttpSettings,
    is_shared: bool,
) -> Result<Option<TwilioSettings>> {
    let is_given = !given.names_in("twilio").is_empty();
    let mut section = given.section("twilio");
    let address = section.read("base_url", base_url)?;
    let account_sid = section.text("account_sid")?;
    let auth_token = section.text("auth_token")?;
    let key = section.text("api_key")?;
    let secret = section.text("api_key_secret")?;
    let signing_key = section.text("signing_key")?;
    let node_url = section.read("node_url", origin)?;
    if !is_carrier {
        return match is_given {
            false => Ok(None),
            true => Err(SettingsError(
                "section `twilio` is without effect, as `calls.carrier` is not `twilio`: set that to `twilio`, or remove \
                 this"
                    .to_owned(),
            )),
        };
    }
    let missing = |name: &str, why: &str| Err(section.missing(name, why));
    let api_key = match (key, secret) {
        (Some(key), Some(secret)) => Some((key, secret)),
        (None, None) => None,
        (Some(_), None) => return missing("api_key_secret", "it goes with `twilio.api_key`"),
        (None, Some(_)) => return missing("api_key", "it goes with `twilio.api_key_secret`"),
    };
    let Some(account_sid) = account_sid else {
        let why = "name the account at Twilio that makes the calls, AC…";
        return missing("account_sid", why);
    };
    if auth_token.is_none() && (api_key.is_none() || signing_key.is_none()) {
        return missing(
            "auth_token",
            "what Twilio sends is signed with the account's token; only `twilio.api_key` together with \
             `twilio.signing_key` does without it",
        );
    }
    let parts = api_key.as_ref();
    let parts = parts.map(|(key, secret)| (key.as_str(), secret.as_str()));
    Login::new(&account_sid, auth_token.as_deref(), parts).map_err(|error| {
        let (field, fault) = (error.field, error.fault);
        SettingsError(format!("setting `twilio.{field}` {fault}"))
    })?;
    let our_url = our_url(node_url, http, is_shared)?;
    Ok(Some(TwilioSettings {
        base_url: address.unwrap_or_else(|| TwilioSettings::BASE_URL.to_owned()),
        account_sid,
        auth_token,
        api_key,
        signing_key,
        public_url: http.public_url.clone().unwrap_or_else(|| our_url.clone()),
        our_url,
    }))
}

/// Where Twilio reaches this very process: what is known of a call is nowhere else.
fn our_url(node_url: Option<String>, http: &HttpSettings, is_shared: bool) -> Result<String> {
    let (setting, url) = match (node_url, &http.public_url) {
        (Some(url), _) => ("twilio.node_url", url),
        (None, _) if is_shared => {
            return Err(SettingsError::missing(
                "twilio.node_url",
                "with PostgreSQL there may be several processes, and a call's sound must reach the one that holds the \
                 call; give the https address at which Twilio reaches this one, such as https://node1.voice.example.com \
                 (of a single process, that of `http.public_url`)",
            ));
        }
        (None, Some(url)) => ("http.public_url", url.clone()),
        (None, None) => {
            return Err(SettingsError::missing(
                "http.public_url",
                "`calls.carrier` is `twilio`, and Twilio reaches this service there; give its https address, such as \
                 https://voice.example.com",
            ));
        }
    };
    if url.starts_with("https://") {
        return Ok(url);
    }
    Err(SettingsError(format!(
        "setting `{setting}` must begin with https://: `calls.carrier` is `twilio`, and what Twilio sends there, calls' \
         sound among it, must not travel in the clear"
    )))
}
