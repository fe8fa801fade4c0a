//! URLs from an account. An accepted one is https, has a name with a dot and no address in any spelling, and stays
//! accepted in its normal form.

#[path = "../../../crates/egress/src/target.rs"]
mod target;

use std::net::IpAddr;

use target::{Policy, TargetUrl};

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(target) = TargetUrl::parse(text, Policy::default()) else {
        return;
    };
    let url = target.as_url();
    assert_eq!(url.scheme(), "https");
    assert!(
        url.username().is_empty() && url.password().is_none() && url.fragment().is_none(),
        "{text}"
    );
    let host = url.host_str().expect("a host");
    assert!(
        host.contains('.') && host.parse::<IpAddr>().is_err(),
        "{text}"
    );
    assert!(!host.starts_with('['), "{text}");
    assert!(
        url.port_or_known_default()
            .is_some_and(|port| port == 443 || port >= 1024),
        "{text}"
    );
    let normal = TargetUrl::parse(target.as_str(), Policy::default()).expect("its own normal form");
    assert_eq!(normal, target);
}
