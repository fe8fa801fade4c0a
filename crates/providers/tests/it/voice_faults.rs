//! Every operation on the voice catalogs with every fault, against a fake.

use std::time::Duration;

use offhook_domain::VoiceProvider;
use offhook_domain::ports::{SharedVoice, VoiceLibrary, VoiceLibraryError};
use offhook_testkit::fakes::voices::VoiceCatalog;
use offhook_testkit::upstream::{Fault, UPSTREAM_WORDS};

use VoiceProvider::{A, B, C};

use crate::it::voice_catalogs::{OURS, THEIRS, library, library_at, numbered, shared, voice};

/// An operation at a provider.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Operation {
    Workspace,
    Library,
    Own(VoiceProvider),
    List(VoiceProvider),
    Add,
    Look,
}

impl Operation {
    const ALL: [Self; 8] = [
        Self::Workspace,
        Self::Library,
        Self::Own(A),
        Self::Own(B),
        Self::List(B),
        Self::List(C),
        Self::Add,
        Self::Look,
    ];

    const fn provider(self) -> VoiceProvider {
        match self {
            Self::Own(provider) | Self::List(provider) => provider,
            _ => A,
        }
    }

    /// Method and path of the request.
    const fn request(self) -> (&'static str, &'static str) {
        match self {
            Self::Workspace | Self::Own(A) => ("GET", "/v2/voices"),
            Self::Library => ("GET", "/v1/shared-voices"),
            Self::Own(_) | Self::List(B) => ("GET", "/voices"),
            Self::List(_) => ("GET", "/v1/models"),
            Self::Add => ("POST", "/v1/voices/add/"),
            Self::Look => ("GET", "/v1/voices/s1"),
        }
    }

    async fn ask(self, library: &dyn VoiceLibrary) -> Result<(), VoiceLibraryError> {
        match self {
            Self::Workspace | Self::Library | Self::List(_) => library.voices().await.map(drop),
            Self::Own(_) => library.own_voices(THEIRS).await.map(drop),
            Self::Add | Self::Look => {
                let voice = SharedVoice {
                    owner_id: "owner".to_owned(),
                    voice_id: "s1".to_owned(),
                    name: "Lucía".to_owned(),
                };
                library.add_shared(&voice).await
            }
        }
    }

    /// A provider with the requested data, in two pages if the operation has pages.
    async fn catalog(self) -> VoiceCatalog {
        let catalog = VoiceCatalog::start().await;
        let mut voices = numbered(self.provider(), 150);
        if self == Self::Look {
            voices.push(voice(A, "s1"));
        }
        catalog.set(OURS, voices.clone());
        catalog.set(THEIRS, voices);
        catalog.share(vec![shared("s1")]);
        catalog
    }
}

/// The outcome of a fault, and how often the request is sent: `None`, once.
fn outcomes() -> Vec<(Fault, Result<u16, &'static str>, Option<usize>)> {
    const UNREACHABLE: Result<u16, &str> = Err("unreachable");
    const MALFORMED: Result<u16, &str> = Err("malformed");
    let refused = |status| (Fault::Status(status), Ok(status), None);
    vec![
        (Fault::Close, UNREACHABLE, None),
        (Fault::LoseAnswer, UNREACHABLE, None),
        (Fault::Slow(Duration::from_secs(3_600)), UNREACHABLE, None),
        (Fault::CutBody, UNREACHABLE, None),
        refused(302),
        refused(400),
        refused(401),
        refused(403),
        refused(404),
        refused(409),
        refused(422),
        refused(500),
        refused(503),
        (Fault::Status(429), Ok(429), Some(3)),
        (Fault::RetryAfter(429, 2), Ok(429), Some(3)),
        (Fault::RetryAfter(429, 3_600), Ok(429), None),
        (Fault::RetryAfter(503, 2), Ok(503), None),
        (Fault::Malformed, MALFORMED, None),
        (Fault::Unknown, MALFORMED, None),
    ]
}

fn word(error: &VoiceLibraryError) -> Result<u16, &'static str> {
    match error {
        VoiceLibraryError::Refused(status) => Ok(*status),
        VoiceLibraryError::Unreachable => Err("unreachable"),
        VoiceLibraryError::Malformed(_) => Err("malformed"),
        _ => Err("something else"),
    }
}

#[tokio::test]
async fn every_operation_reports_each_fault_by_kind_and_retries_only_a_busy_provider() {
    for operation in Operation::ALL {
        for (fault, expected, times) in outcomes() {
            let catalog = operation.catalog().await;
            let (method, path) = operation.request();
            catalog.upstream().fail(method, path, fault, usize::MAX);
            let library = library(operation.provider(), &catalog);
            let takes_time = matches!(fault, Fault::Slow(_)) || times.is_some();
            if takes_time {
                tokio::time::pause();
            }
            let error = operation.ask(&*library).await.unwrap_err();
            if takes_time {
                tokio::time::resume();
            }
            let case = format!("{operation:?}, {fault:?}");
            assert_eq!(word(&error), expected, "{case}");
            assert!(!error.to_string().contains(UPSTREAM_WORDS), "{error}");
            let is_list = !matches!(operation, Operation::Add | Operation::Look);
            let times = times.filter(|_| is_list).unwrap_or(1);
            let asked = catalog.upstream().asked_of(method, path);
            assert_eq!(asked.len(), times, "{case}");
        }
    }
}

#[tokio::test]
async fn every_operation_reports_a_provider_that_is_down_or_whose_tls_fails() {
    for operation in Operation::ALL {
        let catalog = operation.catalog().await;
        let base = catalog.upstream().base_url();
        let encrypted = library_at(operation.provider(), base.replace("http://", "https://"));
        let unreachable = Err(VoiceLibraryError::Unreachable);
        assert_eq!(
            operation.ask(&*encrypted).await,
            unreachable,
            "{operation:?}"
        );
        let library = library(operation.provider(), &catalog);
        catalog.upstream().stop();
        assert_eq!(operation.ask(&*library).await, unreachable, "{operation:?}");
    }
}
