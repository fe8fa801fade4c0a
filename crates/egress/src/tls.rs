//! TLS of outgoing connections: rustls with ring.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// TLS settings for an HTTP/1.1 client: TLS 1.2 and 1.3, with certificates checked against the system's roots
/// (`SSL_CERT_FILE` and `SSL_CERT_DIR` apply). On a system without roots, such as a bare container, it uses Mozilla's
/// roots as of the build.
///
/// The crypto provider is explicit, so no process-wide default needs to be installed. Fails only if ring supports none
/// of the protocol versions, which does not happen in a correct build.
pub fn client_config() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let mut config = match Verifier::new(provider) {
        Ok(verifier) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth(),
        Err(_) => {
            let roots = RootCertStore {
                roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
            };
            builder.with_root_certificates(roots).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
