//! The deployment's account at Twilio: whether it is reached, opens, and may make calls. Nothing is called.

use offhook_twilio::{Login, TwilioClient, TwilioError, TwilioSettings};

use super::finding::Finding;
use super::network::CARRIER;

pub(super) async fn look(settings: &TwilioSettings) -> Finding {
    let key = settings.api_key.as_ref();
    let key = key.map(|(key, secret)| (key.as_str(), secret.as_str()));
    let login = Login::new(&settings.account_sid, settings.auth_token.as_deref(), key);
    let client = login.and_then(|login| TwilioClient::new(&settings.base_url, login));
    let client = match client {
        Ok(client) => client,
        Err(error) => {
            let (field, fault) = (error.field, error.fault);
            return CARRIER.failed(format!("setting `twilio.{field}` {fault}"));
        }
    };
    match client.is_active().await {
        Ok(true) => CARRIER.good("Twilio opens the account of `twilio.account_sid`, and it may make calls"),
        Ok(false) => CARRIER.failed(
            "Twilio has suspended or closed the account of `twilio.account_sid`: look into Twilio's console",
        ),
        Err(TwilioError::Refused {
            status: 401 | 403, ..
        }) => CARRIER.failed("Twilio does not open the account of `twilio.account_sid`: correct `twilio.auth_token`, or `twilio.api_key` \
             and `twilio.api_key_secret`",
        ),
        Err(error @ TwilioError::RateLimited(_)) => {
            CARRIER.failed(format!("{error}: look again in a minute"))
        }
        Err(error) => CARRIER.failed(format!("{error}: correct `twilio.base_url`, or let this machine reach it")),
    }
}
