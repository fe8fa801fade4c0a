//! Objects in a bucket of an S3-compatible store: signed requests (AWS Signature Version 4).

use std::fmt;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::Event;
use reqwest::{Client, Method, Response, StatusCode, Url};
use ring::digest::{SHA256, digest};
use ring::hmac;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::{Instant, sleep};

use crate::{Content, Listed, ObjectError, Result};

const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// How long a connection may be silent.
const SILENCE_LIMIT: Duration = Duration::from_secs(5);

/// A failed request is retried twice, at once and then after a pause.
const RETRIES: u32 = 2;
const PAUSE: Duration = Duration::from_millis(100);

/// No retry starts after this time.
const RETRY_FOR: Duration = Duration::from_secs(4);

const REGION: &str = "us-east-1";

/// Keys per list answer at most.
const PAGE: usize = 1_000;

/// Characters that are not escaped in a signed path or query.
const UNESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The bucket and its credentials. Nothing is read from the environment, and no other credentials are searched for,
/// such as the machine's.
#[derive(Clone)]
pub struct S3Settings {
    pub bucket: String,
    /// The prefix of all keys; may be empty.
    pub prefix: String,
    /// The store's URL; `None` is Amazon's URL of the region. With `http:` the connection is not encrypted.
    pub endpoint: Option<String>,
    /// The region; `None` is `us-east-1`.
    pub region: Option<String>,
    pub access_key_id: String,
    pub secret_access_key: String,
    /// The token of temporary credentials.
    pub session_token: Option<String>,
}

impl fmt::Debug for S3Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.prefix)
    }
}

/// The bucket's settings are invalid, or no client can be created.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct S3SettingsError(String);

impl S3SettingsError {
    fn of(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// The machine's time, which a signature contains.
#[expect(
    clippy::disallowed_methods,
    reason = "an adapter: the store compares it with its own clock"
)]
fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}

/// A bucket, or a prefix in it.
#[derive(Debug)]
pub(crate) struct Bucket {
    client: Client,
    settings: S3Settings,
    region: String,
    /// The bucket's URL.
    url: Url,
}

/// A query without duplicate names, sorted by name.
type Query<'a> = &'a [(&'a str, &'a str)];

impl Bucket {
    pub(crate) fn of(settings: &S3Settings) -> Result<Self, S3SettingsError> {
        let tls = offhook_egress::client_config().map_err(S3SettingsError::of)?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_LIMIT)
            .read_timeout(SILENCE_LIMIT);
        let region = settings.region.as_deref().unwrap_or(REGION);
        let endpoint = match &settings.endpoint {
            Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
            None => format!("https://s3.{region}.amazonaws.com"),
        };
        let url = format!("{endpoint}/{}", settings.bucket);
        Ok(Self {
            client: client.build().map_err(S3SettingsError::of)?,
            settings: settings.clone(),
            region: region.to_owned(),
            url: Url::parse(&url).map_err(S3SettingsError::of)?,
        })
    }

    /// A key with the prefix.
    fn whole(&self, key: &str) -> String {
        match self.settings.prefix.as_str() {
            "" => key.to_owned(),
            prefix => format!("{prefix}/{key}"),
        }
    }

    pub(crate) async fn put(&self, key: &str, content: Bytes) -> Result<()> {
        let put = self.ask(Method::PUT, key, &[], None, content);
        put.await.map(drop)
    }

    pub(crate) async fn get(&self, key: &str) -> Result<Bytes> {
        let answer = self.ask(Method::GET, key, &[], None, Bytes::new()).await?;
        answer.bytes().await.map_err(unread)
    }

    pub(crate) async fn size(&self, key: &str) -> Result<u64> {
        let answer = self.ask(Method::HEAD, key, &[], None, Bytes::new()).await?;
        // The body of an answer to HEAD is empty, so its own length is zero.
        let length = answer.headers().get(reqwest::header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        length.ok_or_else(|| ObjectError::odd("an answer without a length"))
    }

    pub(crate) async fn part(&self, key: &str, range: Range<u64>) -> Result<Content> {
        let asked = format!("bytes={}-{}", range.start, range.end.saturating_sub(1));
        let got = self.ask(Method::GET, key, &[], Some(&asked), Bytes::new());
        let answer = got.await?;
        if answer.status() != StatusCode::PARTIAL_CONTENT {
            return Err(ObjectError::odd("an answer with more than was asked for"));
        }
        Ok(Box::pin(answer.bytes_stream().map_err(unread)))
    }

    pub(crate) async fn delete(&self, key: &str) -> Result<()> {
        let deleted = self.ask(Method::DELETE, key, &[], None, Bytes::new());
        deleted.await.map(drop)
    }

    pub(crate) async fn list(
        &self,
        folder: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<Listed>> {
        let prefix = format!("{}/", self.whole(folder));
        let cut = prefix.len() - folder.len() - 1;
        let mut after = after.map(|after| self.whole(after));
        let mut listed = Vec::new();
        while listed.len() < most {
            let page = (most - listed.len()).min(PAGE).to_string();
            let mut query = vec![("list-type", "2"), ("max-keys", &page), ("prefix", &prefix)];
            query.extend(after.as_deref().map(|after| ("start-after", after)));
            let answer = self.ask(Method::GET, "", &query, None, Bytes::new());
            let xml = answer.await?.text().await.map_err(unread)?;
            let mut found = objects(&xml).ok_or_else(|| ObjectError::odd("no list of objects"))?;
            let is_last = texts(&xml, "IsTruncated").is_none_or(|told| told != ["true"]);
            after = found.last().map(|last| last.key.clone());
            for one in &mut found {
                one.key.drain(..cut.min(one.key.len()));
            }
            listed.append(&mut found);
            if is_last || after.is_none() {
                break;
            }
        }
        Ok(listed)
    }

    /// Starts a multipart upload and returns its id.
    pub(crate) async fn begin(&self, key: &str) -> Result<String> {
        let begun = self.ask(Method::POST, key, &[("uploads", "")], None, Bytes::new());
        let xml = begun.await?.text().await.map_err(unread)?;
        let id = texts(&xml, "UploadId").and_then(|mut ids| ids.pop());
        id.ok_or_else(|| ObjectError::odd("no name for the parts"))
    }

    /// Sends a part, numbered from 1, and returns its ETag.
    pub(crate) async fn send(
        &self,
        key: &str,
        upload: &str,
        number: usize,
        content: Bytes,
    ) -> Result<String> {
        let number = number.to_string();
        let query = [("partNumber", number.as_str()), ("uploadId", upload)];
        let answer = self.ask(Method::PUT, key, &query, None, content).await?;
        let mark = answer.headers().get(reqwest::header::ETAG);
        let mark = mark.and_then(|mark| mark.to_str().ok());
        let mark = mark.ok_or_else(|| ObjectError::odd("a part without a mark"))?;
        Ok(mark.to_owned())
    }

    /// Joins the parts to one object.
    pub(crate) async fn join(&self, key: &str, upload: &str, marks: &[String]) -> Result<()> {
        let mut xml = "<CompleteMultipartUpload>".to_owned();
        for (number, mark) in (1..).zip(marks) {
            let mark = quick_xml::escape::escape(mark.as_str());
            xml.push_str(&format!(
                "<Part><PartNumber>{number}</PartNumber><ETag>{mark}</ETag></Part>"
            ));
        }
        xml.push_str("</CompleteMultipartUpload>");
        let query = [("uploadId", upload)];
        let joined = self.ask(Method::POST, key, &query, None, xml.into());
        let said = joined.await?.text().await.map_err(unread)?;
        // The store sends a 200 before it is done, so the body may still contain an error.
        match texts(&said, "ETag").is_some_and(|marks| !marks.is_empty()) {
            true => Ok(()),
            false => Err(ObjectError::odd(why(&said))),
        }
    }

    /// Deletes the parts.
    pub(crate) async fn abandon(&self, key: &str, upload: &str) -> Result<()> {
        let query = [("uploadId", upload)];
        let gone = self.ask(Method::DELETE, key, &query, None, Bytes::new());
        gone.await.map(drop)
    }

    /// Sends a request with retries, and returns a successful answer. All these requests may be repeated.
    async fn ask(
        &self,
        method: Method,
        key: &str,
        query: Query<'_>,
        range: Option<&str>,
        content: Bytes,
    ) -> Result<Response> {
        let began = Instant::now();
        let mut tries = 0;
        loop {
            let request = self.request(&method, key, query, range, &content, now());
            let asked = request.body(content.clone()).send().await;
            let may_heal = match &asked {
                Ok(answer) => {
                    let status = answer.status();
                    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
                }
                Err(error) => !error.is_builder(),
            };
            if !may_heal || tries == RETRIES || began.elapsed() > RETRY_FOR {
                return good(asked.map_err(unread)?).await;
            }
            sleep(PAUSE * tries).await;
            tries += 1;
        }
    }

    fn request(
        &self,
        method: &Method,
        key: &str,
        query: Query<'_>,
        range: Option<&str>,
        content: &[u8],
        at: OffsetDateTime,
    ) -> reqwest::RequestBuilder {
        let mut url = self.url.clone();
        if !key.is_empty() {
            let key = self.whole(key);
            let parts = key
                .split('/')
                .map(|part| utf8_percent_encode(part, UNESCAPED).to_string());
            let path = parts.fold(url.path().to_owned(), |path, part| path + "/" + &part);
            url.set_path(&path);
        }
        let encoded = |text: &str| utf8_percent_encode(text, UNESCAPED).to_string();
        let query = query
            .iter()
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
        let query = query.collect::<Vec<_>>().join("&");
        url.set_query(Some(query.as_str()).filter(|query| !query.is_empty()));
        let (year, month, day) = at.to_calendar_date();
        let day = format!("{year:04}{:02}{day:02}", u8::from(month));
        let (hour, minute, second) = at.to_hms();
        let now = format!("{day}T{hour:02}{minute:02}{second:02}Z");
        let digest = hex::encode(digest(&SHA256, content));
        let host = url.host_str().unwrap_or_default();
        let host = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let mut headers = vec![
            ("host", host.as_str()),
            ("x-amz-content-sha256", &digest),
            ("x-amz-date", &now),
        ];
        let token = self.settings.session_token.as_deref();
        headers.extend(token.map(|token| ("x-amz-security-token", token)));
        headers.extend(range.map(|range| ("range", range)));
        headers.sort_unstable();
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let lines: String = headers
            .iter()
            .map(|(name, value)| format!("{name}:{value}\n"))
            .collect();
        let canonical = format!(
            "{method}\n{}\n{query}\n{lines}\n{names}\n{digest}",
            url.path()
        );
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let canonical = hex::encode(ring::digest::digest(&SHA256, canonical.as_bytes()));
        let to_sign = format!("AWS4-HMAC-SHA256\n{now}\n{scope}\n{canonical}");
        let secret = format!("AWS4{}", self.settings.secret_access_key);
        let key = scope
            .split('/')
            .fold(secret.into_bytes(), |key, part| mac(&key, part));
        let signature = hex::encode(mac(&key, &to_sign));
        let id = &self.settings.access_key_id;
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}"
        );
        let request = self.client.request(method.clone(), url);
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        request.header("authorization", authorization)
    }
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
}

/// Returns the answer if it is successful.
async fn good(answer: Response) -> Result<Response> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let said = answer.text().await.unwrap_or_default();
    let said = format!("{status}: {}", why(&said));
    let said = said.trim_end_matches(": ");
    Err(match status {
        StatusCode::NOT_FOUND => ObjectError::absent(said),
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => ObjectError::refused(said),
        _ => ObjectError::odd(said),
    })
}

/// The error code and message of an answer.
fn why(xml: &str) -> String {
    let parts = ["Code", "Message"].map(|name| texts(xml, name).unwrap_or_default());
    parts.concat().join(": ")
}

/// Omits the URL: readers of the error know the store.
fn unread(error: reqwest::Error) -> ObjectError {
    ObjectError::of(error.without_url())
}

/// The objects of a list.
fn objects(xml: &str) -> Option<Vec<Listed>> {
    let keys = texts(xml, "Key")?;
    let times = texts(xml, "LastModified")?;
    let times = times
        .iter()
        .map(|at| OffsetDateTime::parse(at, &Rfc3339).ok());
    let times: Vec<SystemTime> = times
        .map(|at| at.map(SystemTime::from))
        .collect::<Option<_>>()?;
    let listed = keys.into_iter().zip(times);
    Some(
        listed
            .map(|(key, modified)| Listed { key, modified })
            .collect(),
    )
}

/// The texts of all elements with this name, in order.
fn texts(xml: &str, name: &str) -> Option<Vec<String>> {
    let mut reader = Reader::from_str(xml);
    let (mut found, mut inside) = (Vec::new(), None::<String>);
    loop {
        match reader.read_event().ok()? {
            Event::Eof => return Some(found),
            Event::Start(tag) => inside = (tag.local_name().as_ref() == name).then(String::new),
            Event::End(_) => found.extend(inside.take()),
            Event::Text(text) => {
                if let Some(inside) = &mut inside {
                    inside.push_str(&text.xml10_content());
                }
            }
            Event::GeneralRef(entity) => {
                if let Some(inside) = &mut inside {
                    inside.push_str(&unescape(&format!("&{};", entity.xml10_content())).ok()?);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The credentials of the examples in Amazon's documentation.
    fn bucket() -> Bucket {
        let bucket = Bucket::of(&S3Settings {
            bucket: "files".to_owned(),
            prefix: "offhook".to_owned(),
            endpoint: Some("http://127.0.0.1:9000/s3/".to_owned()),
            region: None,
            access_key_id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: None,
        });
        bucket.unwrap()
    }

    fn get(bucket: &Bucket, key: &str, query: Query<'_>, range: Option<&str>) -> reqwest::Request {
        let at = OffsetDateTime::from_unix_timestamp(1_369_353_600).unwrap();
        let request = bucket.request(&Method::GET, key, query, range, b"", at);
        request.build().unwrap()
    }

    #[test]
    fn requests_are_signed_as_amazons_documentation_signs_them() {
        let signed = |url: &str, query: Query<'_>, range| {
            let bucket = Bucket {
                url: Url::parse(url).unwrap(),
                ..bucket()
            };
            let request = get(&bucket, "", query, range);
            request.headers()["authorization"]
                .to_str()
                .unwrap()
                .to_owned()
        };
        let begin = "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;";
        let object = "https://examplebucket.s3.amazonaws.com/test.txt";
        assert_eq!(
            signed(object, &[], Some("bytes=0-9")),
            format!(
                "{begin}range;x-amz-content-sha256;x-amz-date, \
                 Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
            )
        );
        let list = [("max-keys", "2"), ("prefix", "J")];
        assert_eq!(
            signed("https://examplebucket.s3.amazonaws.com", &list, None),
            format!(
                "{begin}x-amz-content-sha256;x-amz-date, \
                 Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
            )
        );
    }

    #[test]
    fn keys_are_behind_the_bucket_and_the_prefix() {
        let url = |key, query| get(&bucket(), key, query, None).url().to_string();
        let files = "http://127.0.0.1:9000/s3/files";
        assert_eq!(
            url("uploads/a.b", &[]),
            format!("{files}/offhook/uploads/a.b")
        );
        let list = [("list-type", "2"), ("prefix", "a b/ñ+")];
        assert_eq!(
            url("", &list),
            format!("{files}?list-type=2&prefix=a%20b%2F%C3%B1%2B")
        );
    }

    #[test]
    fn lists_and_failures_are_read() {
        let xml = "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>\
            <Contents><Key>a/b&amp;c</Key><LastModified>2026-04-30T18:32:11.123Z</LastModified><Size>1</Size></Contents>\
            </ListBucketResult>";
        let listed = objects(xml).unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].key, "a/b&c");
        assert_eq!(
            listed[0].modified,
            SystemTime::UNIX_EPOCH + Duration::from_millis(1_777_573_931_123)
        );
        assert_eq!(texts(xml, "IsTruncated").unwrap(), ["false"]);
        let said =
            why("<Error><Code>NoSuchBucket</Code><Message>It is not there</Message></Error>");
        assert_eq!(said, "NoSuchBucket: It is not there");
        assert_eq!(why("<html>"), "");
    }
}
