//! An S3-compatible store that checks signatures, and fails on demand.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::Options;
use crate::wait::must;

const BUCKET: &str = "files";
const KEY_ID: &str = "AKIDTEST";
const KEY: &str = "a secret of the test's own";

/// S3's response for a missing bucket.
const NO_SUCH_BUCKET: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>NoSuchBucket</Code>\
    <Message>The specified bucket does not exist</Message></Error>";

const UP: u8 = 0;
const DOWN: u8 = 1;
const SILENT: u8 = 2;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The store; it ends with the test.
#[derive(Debug)]
pub struct ObjectServer {
    address: SocketAddr,
    mode: Arc<AtomicU8>,
    directory: TempDir,
}

impl ObjectServer {
    /// A store with one empty bucket.
    pub async fn start() -> Self {
        let directory = must("a directory", tempfile::tempdir());
        must(
            "a bucket",
            std::fs::create_dir(directory.path().join(BUCKET)),
        );
        let files = match s3s_fs::FileSystem::new(directory.path()) {
            Ok(files) => files,
            Err(error) => panic!("a store of objects: {error:?}"),
        };
        let mut builder = S3ServiceBuilder::new(files);
        builder.set_auth(SimpleAuth::from_single(KEY_ID, KEY));
        let service = builder.build();
        let listener = must("a port", TcpListener::bind("127.0.0.1:0").await);
        let address = must("its address", listener.local_addr());
        let mode = Arc::new(AtomicU8::new(UP));
        let buckets: Arc<Path> = directory.path().into();
        tokio::spawn(serve(listener, service, buckets, mode.clone()));
        Self {
            address,
            mode,
            directory,
        }
    }

    /// Settings with which a server keeps its files here, under a prefix.
    #[must_use]
    pub fn used_by(&self, options: Options) -> Options {
        options
            .set("storage.objects", format!("s3://{BUCKET}/offhook/test"))
            .set("storage.s3.endpoint", format!("http://{}", self.address))
            .set("storage.s3.access_key_id", KEY_ID)
            .set("storage.s3.secret_access_key", KEY)
    }

    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Responds again.
    pub fn recover(&self) {
        self.mode.store(UP, Ordering::SeqCst);
    }

    /// Closes the connection on every request from now on.
    pub fn go_down(&self) {
        self.mode.store(DOWN, Ordering::SeqCst);
    }

    /// Accepts every request from now on and never responds.
    pub fn fall_silent(&self) {
        self.mode.store(SILENT, Ordering::SeqCst);
    }

    /// The keys in a folder, such as `uploads`.
    #[must_use]
    pub fn keys(&self, folder: &str) -> Vec<String> {
        let root = self.directory.path().join(BUCKET).join("offhook/test");
        let mut keys = Vec::new();
        gather(&root.join(folder), &root, &mut keys);
        keys.sort();
        keys
    }
}

fn gather(folder: &Path, root: &Path, keys: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            gather(&path, root, keys);
        } else if let Ok(key) = path.strip_prefix(root).map(PathBuf::from) {
            keys.push(key.to_string_lossy().into_owned());
        }
    }
}

async fn serve(listener: TcpListener, service: S3Service, buckets: Arc<Path>, mode: Arc<AtomicU8>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (service, buckets, mode) = (service.clone(), buckets.clone(), mode.clone());
        let answer = service_fn(move |request: Request<Incoming>| {
            let (service, buckets) = (service.clone(), buckets.clone());
            let mode = mode.load(Ordering::SeqCst);
            async move { answer(&service, &buckets, mode, request).await }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}

async fn answer(
    service: &S3Service,
    buckets: &Path,
    mode: u8,
    request: Request<Incoming>,
) -> Result<Response<s3s::Body>, Failure> {
    // The library creates a bucket on the first write to it, which real stores do not do.
    let bucket = request.uri().path().split('/').nth(1).unwrap_or_default();
    let is_missing = !buckets.join(bucket).is_dir();
    match mode {
        DOWN => Err("the store is down".into()),
        SILENT => std::future::pending().await,
        _ if is_missing => Ok(Response::builder()
            .status(StatusCode::NOT_FOUND)
            .body(s3s::Body::from(NO_SUCH_BUCKET.to_owned()))?),
        _ => service
            .call(request.map(s3s::Body::from))
            .await
            .map_err(|error| format!("{error:?}").into()),
    }
}
