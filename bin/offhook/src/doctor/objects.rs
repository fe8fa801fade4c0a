//! Where files are: one is written, read and deleted.

use bytes::Bytes;
use offhook_objects::ObjectError;

use super::finding::{Finding, Hop};
use crate::prelude::*;
use crate::settings::ObjectsSettings;

const HOP: Hop = Hop("objects");

const CONTENT: &[u8] = b"offhook doctor";

/// As much of what a store says is shown; some answer with a page.
const SAID_AT_MOST: usize = 400;

pub(super) async fn look(settings: &Settings) -> Finding {
    let place = place(settings);
    if matches!(settings.objects, ObjectsSettings::Own) && !settings.data_dir.exists() {
        return HOP.skipped(format!("{place} is made by `offhook serve`"));
    }
    if let Err(error) = try_out(settings).await {
        let fault = error.downcast_ref::<ObjectError>();
        let remedy = remedy(settings, fault);
        let message = one_line(&format!("{error:#}"));
        return HOP.failed(format!("{place} does not keep files ({message}): {remedy}"));
    }
    if matches!(settings.objects, ObjectsSettings::Own) && settings.redis_url.is_some() {
        return HOP.warning(format!(
            "{place} is this machine's own, where other processes do not find files: set `storage.objects` to a bucket, \
             or to a directory that is the same one on every machine"
        ));
    }
    HOP.good(format!("{place}: a file was written, read and deleted"))
}

fn place(settings: &Settings) -> String {
    match &settings.objects {
        ObjectsSettings::Own => settings.data_dir.join("objects").display().to_string(),
        ObjectsSettings::Directory(path) => path.display().to_string(),
        ObjectsSettings::Bucket(bucket) => {
            let at = bucket.endpoint.as_deref().unwrap_or("Amazon's S3");
            format!("{bucket:?} at {at}")
        }
    }
}

async fn try_out(settings: &Settings) -> anyhow::Result<()> {
    let objects = parts::objects(settings)?;
    let key = format!("doctor-{}", parts::new_node());
    let content = Bytes::from_static(CONTENT);
    objects.put(&key, content).await.context("writing")?;
    let read = objects.get(&key).await;
    // Whatever was read, nothing is left behind.
    let deleted = objects.delete(&key).await;
    let read = read.context("reading what was written")?;
    ensure!(
        read.as_deref() == Some(CONTENT),
        "what is read is not what was written"
    );
    deleted.with_context(|| format!("deleting `{key}`, which is left"))?;
    let left = objects.get(&key).await.context("looking once more")?;
    ensure!(left.is_none(), "`{key}` was deleted and is still there");
    Ok(())
}

fn remedy(settings: &Settings, fault: Option<&ObjectError>) -> String {
    let ObjectsSettings::Bucket(bucket) = &settings.objects else {
        return "see that it is a directory which this user may write in, and that its disk has room"
            .to_owned();
    };
    match fault {
        Some(fault) if fault.is_absent() => format!(
            "make the bucket `{}`, or correct `storage.objects`",
            bucket.bucket
        ),
        Some(fault) if fault.is_refused() => {
            "correct `storage.s3.access_key_id` and `storage.s3.secret_access_key`, let that key read, write, list and delete \
             in the bucket, and see that this machine's clock is right"
                .to_owned()
        }
        _ => "see that the store runs and can be reached from here, or correct `storage.s3.endpoint` and \
              `storage.s3.region`"
            .to_owned(),
    }
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(SAID_AT_MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_store_says_is_one_line_of_bounded_length() {
        assert_eq!(
            one_line("<Error>\n  <Code>é</Code>\r\n"),
            "<Error> <Code>é</Code>"
        );
        let long = one_line(&"é".repeat(1_000));
        assert_eq!(long.chars().count(), SAID_AT_MOST + 1);
    }
}
