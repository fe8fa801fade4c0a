//! `whatsapp`: where the Cloud API is.

use offhook_providers::WhatsAppSettings;

use super::Result;
use super::given::{Given, Raw};
use super::values::base_url;

pub(super) fn whatsapp(given: &mut Given) -> Result<Option<WhatsAppSettings>> {
    let base_url = given.read("whatsapp.base_url", base_url)?;
    let version = given.read("whatsapp.version", version)?;
    let is_given = base_url.is_some() || version.is_some();
    let default = WhatsAppSettings::default();
    Ok(is_given.then(|| WhatsAppSettings {
        base_url: base_url.unwrap_or(default.base_url),
        version: version.unwrap_or(default.version),
    }))
}

fn version(raw: Raw) -> Result<String, String> {
    let text = raw.text()?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let parts = text.strip_prefix('v').and_then(|rest| rest.split_once('.'));
    match parts {
        Some((major, minor)) if is_number(major) && is_number(minor) => Ok(text),
        _ => Err("must be a version of the Graph API, such as v24.0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::variables;

    fn read(name: &str, value: &str) -> Option<WhatsAppSettings> {
        variables(&[(name, value)]).unwrap().whatsapp
    }

    #[test]
    fn one_setting_of_the_cloud_api_leaves_the_other_as_it_is() {
        let default = WhatsAppSettings::default();
        let newer = read("OFFHOOK_WHATSAPP__VERSION", "v25.0").unwrap();
        let set = (newer.version.as_str(), &newer.base_url);
        assert_eq!(set, ("v25.0", &default.base_url));
        let elsewhere = read("OFFHOOK_WHATSAPP__BASE_URL", "http://127.0.0.1:9000").unwrap();
        let set = (elsewhere.base_url.as_str(), &elsewhere.version);
        assert_eq!(set, ("http://127.0.0.1:9000", &default.version));
        assert_eq!(read("OFFHOOK_LISTEN", "127.0.0.1:0"), None);
    }
}
