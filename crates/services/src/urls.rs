//! Errors in a URL, as field errors.

use offhook_domain::json::{Fault, Rule, UrlRule};
use offhook_egress::TargetUrlError;

/// The error of a field that holds a URL.
pub(crate) fn fault(error: &TargetUrlError) -> Fault {
    let rule = match error {
        TargetUrlError::TooLong => UrlRule::Length,
        TargetUrlError::BadCharacter => UrlRule::Characters,
        TargetUrlError::Malformed => UrlRule::Whole,
        TargetUrlError::Scheme => UrlRule::Https,
        TargetUrlError::Credentials => UrlRule::Credentials,
        TargetUrlError::Fragment => UrlRule::Fragment,
        TargetUrlError::AddressLiteral => UrlRule::Address,
        TargetUrlError::LocalName => UrlRule::Local,
        TargetUrlError::HostName => UrlRule::Host,
        TargetUrlError::Port => UrlRule::Port,
    };
    let message = error.to_string();
    Rule::Url { rule, message }.into()
}
