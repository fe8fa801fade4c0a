//! The Twilio account of a call: the deployment's, or a customer account's own.

use reqwest::Url;
use url::form_urlencoded;

use offhook_engine::ports::callbacks::Callback;

use crate::client::TwilioClient;
use crate::login::Login;
use crate::signature::Signatures;

/// The largest form that is read; Twilio's have a few KiB.
const MOST_FORM_BYTES: usize = 64 * 1024;

/// A Twilio account with its client and its signature keys.
pub(crate) struct Party {
    pub(crate) client: TwilioClient,
    pub(crate) signatures: Signatures,
}

impl Party {
    /// The account of a login, with the settings of `client`. A login by API key cannot verify callbacks, so all are
    /// rejected.
    pub(crate) fn of(login: Login, client: &TwilioClient) -> Self {
        Self {
            signatures: Signatures::new(login.auth_token(), None),
            client: client.with_login(login),
        }
    }

    pub(crate) fn account(&self) -> &str {
        self.client.account()
    }

    /// The fields of a callback form below `root`; `None` if it is not signed by this account, or belongs to another
    /// one.
    pub(crate) fn verified(&self, root: &Url, callback: &Callback<'_>) -> Option<Form> {
        let mut url = root.clone();
        url.set_path(callback.path);
        url.set_query(callback.query);
        let header = callback.header;
        let signature = header("x-twilio-signature")?;
        let settings = header("x-twilio-webhooks-signature-settings");
        let form = Form::read(callback)?;
        let signatures = &self.signatures;
        (signatures.verify(&url, &form.0, &signature, settings.as_deref())
            && form.get("AccountSid") == Some(self.account()))
        .then_some(form)
    }
}

/// A form's fields, in order.
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// Parses an unverified form; `None` if it is too large.
    pub(crate) fn read(callback: &Callback<'_>) -> Option<Self> {
        if callback.body.len() > MOST_FORM_BYTES {
            return None;
        }
        let members = form_urlencoded::parse(callback.body);
        Some(Self(members.into_owned().collect()))
    }

    /// The first field with this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}
