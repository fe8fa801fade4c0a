//! `storage`: where files are kept.

use offhook_objects::S3Settings;

use super::given::{Given, Raw};
use super::values::base_url;
use super::{Result, SettingsError};
use crate::prelude::*;

/// `storage.objects`.
#[derive(Debug, Clone)]
pub(crate) enum ObjectsSettings {
    /// The data directory's own.
    Own,
    /// A directory; with several nodes the same one on each, as on a network file system.
    Directory(PathBuf),
    /// A bucket of an S3-compatible store.
    Bucket(S3Settings),
}

pub(super) fn objects(given: &mut Given) -> Result<ObjectsSettings> {
    let place = given.read("storage.objects", place)?;
    let mut section = given.section("storage.s3");
    let endpoint = section.read("endpoint", base_url)?;
    let region = section.text("region")?;
    let access_key_id = section.text("access_key_id")?;
    let secret_access_key = section.text("secret_access_key")?;
    let session_token = section.text("session_token")?;
    let Some(Place::Bucket { bucket, prefix }) = place else {
        let unread = [
            ("endpoint", &endpoint),
            ("region", &region),
            ("access_key_id", &access_key_id),
            ("secret_access_key", &secret_access_key),
            ("session_token", &session_token),
        ];
        if let Some((name, _)) = unread.into_iter().find(|(_, text)| text.is_some()) {
            return Err(SettingsError(format!(
                "setting `storage.s3.{name}` is without effect: it is for a bucket, and `storage.objects` names none; \
                 remove it, or give `storage.objects` as s3://<bucket>/<prefix>"
            )));
        }
        return Ok(match place {
            Some(Place::Directory(path)) => ObjectsSettings::Directory(path),
            _ => ObjectsSettings::Own,
        });
    };
    // The variables that AWS's own tools read stand in for what is not given.
    let of_aws = |text: Option<String>, variables: &[&str]| {
        let stands_in = || variables.iter().find_map(|name| given.of_others(name));
        text.or_else(|| stands_in().map(str::to_owned))
    };
    let needed = |text, name: &str, variable| {
        of_aws(text, &[variable]).ok_or_else(|| {
            let why = format!(
                "give it, or {variable} in the environment; credentials of the machine are not looked for"
            );
            SettingsError::missing(&format!("storage.s3.{name}"), &why)
        })
    };
    Ok(ObjectsSettings::Bucket(S3Settings {
        bucket,
        prefix,
        endpoint: of_aws(endpoint, &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]),
        region: of_aws(region, &["AWS_REGION", "AWS_DEFAULT_REGION"]),
        access_key_id: needed(access_key_id, "access_key_id", "AWS_ACCESS_KEY_ID")?,
        secret_access_key: needed(
            secret_access_key,
            "secret_access_key",
            "AWS_SECRET_ACCESS_KEY",
        )?,
        session_token: of_aws(session_token, &["AWS_SESSION_TOKEN"]),
    }))
}

enum Place {
    Directory(PathBuf),
    Bucket { bucket: String, prefix: String },
}

fn place(raw: Raw) -> Result<Place, String> {
    let text = raw.text()?;
    let Some((scheme, rest)) = text.split_once("://") else {
        return Ok(Place::Directory(text.into()));
    };
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let prefix = prefix.trim_end_matches('/');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_good = scheme == "s3"
        && (3..=63).contains(&bucket.len())
        && bucket.chars().all(is_plain)
        && (prefix.is_empty()
            || prefix.split('/').all(|part| {
                !part.is_empty() && part != "." && part != ".." && part.chars().all(is_plain)
            }));
    if !is_good {
        return Err(
            "must be a directory, or s3://<bucket>/<prefix> of letters, digits, `-`, `.` and `_`"
                .to_owned(),
        );
    }
    Ok(Place::Bucket {
        bucket: bucket.to_owned(),
        prefix: prefix.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::{refuses, variables};

    fn settings(all: &[(&str, &str)]) -> Result<ObjectsSettings, String> {
        variables(all).map(|settings| settings.objects)
    }

    #[test]
    fn files_are_in_the_data_directory_or_in_one_that_is_named() {
        assert!(matches!(settings(&[]), Ok(ObjectsSettings::Own)));
        let named = settings(&[
            ("OFFHOOK_STORAGE__OBJECTS", "/mnt/files"),
            ("AWS_ACCESS_KEY_ID", "unused"),
        ]);
        assert!(matches!(named, Ok(ObjectsSettings::Directory(path)) if path == *"/mnt/files"));
    }

    #[test]
    fn a_bucket_takes_what_aws_tools_take_where_it_is_not_given() {
        let bucket = settings(&[
            ("OFFHOOK_STORAGE__OBJECTS", "s3://files/a/b/"),
            ("OFFHOOK_STORAGE__S3__REGION", "eu-west-1"),
            ("AWS_REGION", "us-east-2"),
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_ENDPOINT_URL", "http://minio:9000"),
        ]);
        let Ok(ObjectsSettings::Bucket(bucket)) = bucket else {
            panic!("{bucket:?}");
        };
        assert_eq!(
            (bucket.bucket.as_str(), bucket.prefix.as_str()),
            ("files", "a/b")
        );
        assert_eq!(bucket.region.as_deref(), Some("eu-west-1"));
        assert_eq!(bucket.endpoint.as_deref(), Some("http://minio:9000"));
        assert_eq!(
            format!("{bucket:?}"),
            "s3://files/a/b",
            "no secret is shown"
        );
    }

    #[test]
    fn a_bucket_without_credentials_or_with_a_strange_name_is_refused() {
        refuses(
            r#"
            storage.objects = "s3://files"
            AWS_ACCESS_KEY_ID=id
            => setting `storage.s3.secret_access_key` is missing: give it, or AWS_SECRET_ACCESS_KEY in the environment;
               credentials of the machine are not looked for

            storage.objects = "/mnt/files"
            storage.s3.region = "eu-west-1"
            => setting `storage.s3.region` is without effect: it is for a bucket, and `storage.objects` names none;…
            "#,
        );
        for wrong in [
            "gs://files",
            "s3://",
            "s3://files/../x",
            "s3://fi les",
            "s3://files//x",
        ] {
            let refused = settings(&[("OFFHOOK_STORAGE__OBJECTS", wrong)]).unwrap_err();
            assert!(
                refused.contains("s3://<bucket>/<prefix>"),
                "{wrong}: {refused}"
            );
        }
    }
}
