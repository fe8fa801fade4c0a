//! The certificate and key that a listener shows (`http.tls_cert` and `http.tls_key`, `sip.tls_cert` and `sip.tls_key`).

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::prelude::*;
use crate::settings::{Result, SettingsError, TlsSettings};

/// Reads both files, which the settings `tls_cert` and `tls_key` of a section name.
///
/// # Errors
/// A file that cannot be read, is none of its kind, or a key that is not the certificate's; the sentence names the
/// setting.
pub(crate) fn server_config(section: &str, settings: &TlsSettings) -> Result<ServerConfig> {
    let certificates = certificates(section, &settings.cert)?;
    let key = PrivateKeyDer::from_pem_file(&settings.key).map_err(|error| {
        let needed = "a private key in PEM (`BEGIN PRIVATE KEY`), unencrypted";
        fault(&format!("{section}.tls_key"), &settings.key, &error, needed)
    })?;
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| SettingsError(format!("TLS cannot be set up: {error}")))?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => SettingsError(format!(
                "setting `{section}.tls_key` ({}) is not the key of the certificate in `{section}.tls_cert` ({}): give the \
                 two that belong together, the server's own certificate first in its file",
                settings.key.display(),
                settings.cert.display()
            )),
            error => SettingsError(format!(
                "settings `{section}.tls_cert` ({}) and `{section}.tls_key` ({}) cannot be used: {error}",
                settings.cert.display(),
                settings.key.display()
            )),
        })
}

/// The server's certificate and those that lead to its root.
fn certificates(section: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let needed =
        "the server's certificate in PEM (`BEGIN CERTIFICATE`), followed by the intermediate ones";
    let wrong = |error: pem::Error| fault(&format!("{section}.tls_cert"), file, &error, needed);
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file)
        .map_err(wrong)?
        .collect();
    match read.map_err(wrong)? {
        none if none.is_empty() => Err(wrong(pem::Error::NoItemsFound)),
        some => Ok(some),
    }
}

/// Says nothing of what is in the file, which may be a key.
fn fault(setting: &str, file: &Path, error: &pem::Error, needed: &str) -> SettingsError {
    let what = match error {
        pem::Error::Io(error) => format!("cannot be read: {error}"),
        pem::Error::NoItemsFound => format!("does not hold {needed}"),
        _ => format!("is not well-formed PEM: give {needed}"),
    };
    SettingsError(format!("setting `{setting}` ({}) {what}", file.display()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;

    struct Files(TempDir);

    impl Files {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn write(&self, name: &str, text: &str) -> PathBuf {
            let path = self.0.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        }

        fn refusal(&self, cert: PathBuf, key: PathBuf) -> String {
            let refused = server_config("http", &TlsSettings { cert, key })
                .unwrap_err()
                .0;
            refused.replace(self.0.path().to_str().unwrap(), "DIR")
        }
    }

    fn pair() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn a_certificate_and_its_key_are_taken() {
        let files = Files::new();
        let (cert, key) = pair();
        let settings = TlsSettings {
            cert: files.write("cert.pem", &cert),
            key: files.write("key.pem", &key),
        };
        assert!(server_config("http", &settings).is_ok());
    }

    #[test]
    fn each_fault_names_its_setting_and_file() {
        let files = Files::new();
        let (cert, key) = pair();
        let (_, other) = pair();
        let cert = files.write("cert.pem", &cert);
        let key = files.write("key.pem", &key);
        let other = files.write("other.pem", &other);
        let none = files.0.path().join("none");
        let text = files.write("text", "hunter2");
        let broken = "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n";
        let broken = files.write("broken", broken);
        for (cert, key, fault) in [
            (&none, &key, "`http.tls_cert` (DIR/none) cannot be read: "),
            (&cert, &none, "`http.tls_key` (DIR/none) cannot be read: "),
            (
                &key,
                &key,
                "`http.tls_cert` (DIR/key.pem) does not hold the server's certificate in PEM (`BEGIN CERTIFICATE`), \
                 followed by the intermediate ones",
            ),
            (
                &cert,
                &text,
                "`http.tls_key` (DIR/text) does not hold a private key in PEM (`BEGIN PRIVATE KEY`), unencrypted",
            ),
            (
                &broken,
                &key,
                "`http.tls_cert` (DIR/broken) is not well-formed PEM: ",
            ),
            (
                &cert,
                &other,
                "`http.tls_key` (DIR/other.pem) is not the key of the certificate in `http.tls_cert` (DIR/cert.pem): \
                 give the two that belong together, the server's own certificate first in its file",
            ),
        ] {
            let refusal = files.refusal(cert.clone(), key.clone());
            assert!(
                refusal.starts_with(&format!("setting {fault}")),
                "{refusal}"
            );
            assert!(!refusal.contains("hunter2"), "{refusal}");
        }
    }
}
