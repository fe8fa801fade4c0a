//! Objects in a bucket of an S3-compatible store.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};

use crate::client::Client;

/// A request that failed is asked twice more, at once and then a little later.
const RETRIES: usize = 2;

/// No retry begins after this.
const RETRY_FOR: Duration = Duration::from_secs(4);

const REGION: &str = "us-east-1";

/// Where the bucket is, and who asks for it. Nothing else is taken from the environment, and no other credentials are
/// looked for, such as those of the machine.
#[derive(Clone)]
pub struct S3Settings {
    /// The bucket.
    pub bucket: String,
    /// What every key begins with; empty for none.
    pub prefix: String,
    /// The store's URL; `None` is Amazon's of the region. With `http:` the connection is in the clear.
    pub endpoint: Option<String>,
    /// The region; `None` is `us-east-1`.
    pub region: Option<String>,
    /// The access key's id.
    pub access_key_id: String,
    /// The access key.
    pub secret_access_key: String,
    /// The token of temporary credentials.
    pub session_token: Option<String>,
}

impl fmt::Debug for S3Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.prefix)
    }
}

/// The settings of the bucket are wrong, or no client can be made.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct S3SettingsError(String);

impl S3SettingsError {
    fn of(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

pub(crate) fn open(settings: &S3Settings) -> Result<Arc<dyn ObjectStore>, S3SettingsError> {
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&settings.bucket)
        .with_region(settings.region.as_deref().unwrap_or(REGION))
        .with_access_key_id(&settings.access_key_id)
        .with_secret_access_key(&settings.secret_access_key)
        .with_http_connector(Client::new().map_err(S3SettingsError::of)?)
        .with_retry(RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(100),
                max_backoff: Duration::from_secs(1),
                base: 2.0,
            },
            max_retries: RETRIES,
            retry_timeout: RETRY_FOR,
        });
    if let Some(token) = &settings.session_token {
        builder = builder.with_token(token);
    }
    if let Some(endpoint) = &settings.endpoint {
        builder = builder
            .with_endpoint(endpoint)
            .with_allow_http(endpoint.starts_with("http://"));
    }
    let store = builder.build().map_err(S3SettingsError::of)?;
    let prefix = Path::parse(&settings.prefix).map_err(S3SettingsError::of)?;
    Ok(if prefix.as_ref().is_empty() {
        Arc::new(store)
    } else {
        Arc::new(PrefixStore::new(store, prefix))
    })
}
