//! `integrations`: the deployment's OAuth clients at the applications that accounts can connect.

use offhook_providers::{ApplicationSettings, applications};

use super::given::{Given, Raw};
use super::values::base_url;
use super::{Result, SettingsError};
use crate::prelude::*;

pub(super) fn integrations(
    given: &mut Given,
) -> Result<BTreeMap<&'static str, ApplicationSettings>> {
    let mut integrations = BTreeMap::new();
    for toolkit in applications() {
        let key = |name: &str| format!("integrations.{toolkit}.{name}");
        let client_id = given.read(&key("client_id"), Raw::text)?;
        let client_secret = given.read(&key("client_secret"), Raw::text)?;
        let mut place = |name: &str| given.read(&key(name), base_url);
        let mut settings = ApplicationSettings {
            authorize_url: place("authorize_url")?,
            token_url: place("token_url")?,
            revoke_url: place("revoke_url")?,
            api_url: place("api_url")?,
            ..ApplicationSettings::default()
        };
        let missing = |name: &str| {
            let key = key(name);
            SettingsError(format!(
                "setting `{key}` is missing: an application is connected with the `client_id` and `client_secret` that it \
                 gave this service"
            ))
        };
        (settings.client_id, settings.client_secret) = match (client_id, client_secret) {
            (None, None) if settings == ApplicationSettings::default() => continue,
            (Some(client_id), Some(client_secret)) => (client_id, client_secret),
            (None, _) => return Err(missing("client_id")),
            (_, None) => return Err(missing("client_secret")),
        };
        integrations.insert(toolkit, settings);
    }
    Ok(integrations)
}

#[cfg(test)]
mod tests {
    use crate::settings::{Flags, Settings};

    fn read(given: &[(&str, &str)]) -> Result<Settings, String> {
        let environment = given.iter().map(|(name, value)| {
            let name = format!("OFFHOOK_INTEGRATIONS__{name}");
            (name.into(), (*value).into())
        });
        Settings::from_parts(Flags::default(), environment).map_err(|error| error.to_string())
    }

    #[test]
    fn an_application_needs_its_client_and_may_be_elsewhere() {
        assert!(read(&[]).unwrap().integrations.is_empty());
        let settings = read(&[
            ("HUBSPOT__CLIENT_ID", "id"),
            ("HUBSPOT__CLIENT_SECRET", "s3cret"),
            ("HUBSPOT__API_URL", "http://127.0.0.1:9"),
        ]);
        let integrations = settings.unwrap().integrations;
        let hubspot = &integrations["hubspot"];
        assert_eq!(integrations.len(), 1);
        assert_eq!(hubspot.api_url.as_deref(), Some("http://127.0.0.1:9"));
        assert_eq!(hubspot.token_url, None);
        assert!(!format!("{hubspot:?}").contains("s3cret"));
    }

    #[test]
    fn what_is_missing_unknown_or_wrong_is_named() {
        for (given, message) in [
            (
                &[("HUBSPOT__CLIENT_ID", "id")] as &[_],
                "setting `integrations.hubspot.client_secret` is missing: ",
            ),
            (
                &[("HUBSPOT__API_URL", "https://api.hubapi.com")],
                "setting `integrations.hubspot.client_id` is missing: ",
            ),
            (
                &[("GOOGLE_CALENDAR__TOKEN_URL", "s3cret")],
                "setting `integrations.google_calendar.token_url` (",
            ),
            (&[("SALESFORCE__CLIENT_ID", "id")], "unknown setting "),
        ] {
            let fault = read(given).unwrap_err();
            assert!(fault.starts_with(message), "{fault}");
            assert!(!fault.contains("s3cret"), "{fault}");
        }
    }
}
