//! `twilio`: the deployment's account at Twilio, and where Twilio reaches this process.

use offhook_twilio::{Login, TwilioSettings};

use super::given::{Given, Raw};
use super::read::{base_url, origin};
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
    let address = given.read("twilio.base_url", base_url)?;
    let account_sid = given.read("twilio.account_sid", Raw::text)?;
    let auth_token = given.read("twilio.auth_token", Raw::text)?;
    let key = given.read("twilio.api_key", Raw::text)?;
    let secret = given.read("twilio.api_key_secret", Raw::text)?;
    let signing_key = given.read("twilio.signing_key", Raw::text)?;
    let node_url = given.read("twilio.node_url", origin)?;
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
    let api_key = match (key, secret) {
        (Some(key), Some(secret)) => Some((key, secret)),
        (None, None) => None,
        (Some(_), None) => {
            return Err(missing("api_key_secret", "it goes with `twilio.api_key`"));
        }
        (None, Some(_)) => {
            return Err(missing("api_key", "it goes with `twilio.api_key_secret`"));
        }
    };
    let account_sid = account_sid.ok_or_else(|| {
        missing(
            "account_sid",
            "name the account at Twilio that makes the calls, AC…",
        )
    })?;
    if auth_token.is_none() && (api_key.is_none() || signing_key.is_none()) {
        return Err(missing(
            "auth_token",
            "what Twilio sends is signed with the account's token; only `twilio.api_key` together with \
             `twilio.signing_key` does without it",
        ));
    }
    let parts = api_key.as_ref();
    let parts = parts.map(|(key, secret)| (key.as_str(), secret.as_str()));
    Login::new(&account_sid, auth_token.as_deref(), parts).map_err(|error| {
        let (field, fault) = (error.field, error.fault);
        SettingsError(format!("setting `twilio.{field}` {fault}"))
    })?;
    Ok(Some(TwilioSettings {
        base_url: address.unwrap_or_else(|| TwilioSettings::BASE_URL.to_owned()),
        account_sid,
        auth_token,
        api_key,
        signing_key,
        our_url: our_url(node_url, http, is_shared)?,
    }))
}

/// Where Twilio reaches this very process: what is known of a call is nowhere else.
fn our_url(node_url: Option<String>, http: &HttpSettings, is_shared: bool) -> Result<String> {
    let (setting, url) = match (node_url, &http.public_url) {
        (Some(url), _) => ("twilio.node_url", url),
        (None, _) if is_shared => {
            return Err(missing(
                "node_url",
                "with PostgreSQL there may be several processes, and a call's sound must reach the one that holds the \
                 call; give the https address at which Twilio reaches this one, such as https://node1.voice.example.com \
                 (of a single process, that of `http.public_url`)",
            ));
        }
        (None, Some(url)) => ("http.public_url", url.clone()),
        (None, None) => {
            return Err(SettingsError(
                "setting `http.public_url` is missing: `calls.carrier` is `twilio`, and Twilio reaches this service there; \
                 give its https address, such as https://voice.example.com"
                    .to_owned(),
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

fn missing(name: &str, why: &str) -> SettingsError {
    SettingsError(format!("setting `twilio.{name}` is missing: {why}"))
}
