//! `offhook doctor` on Redis, the file storage, and their clocks.

use offhook_testkit::{RedisServer, shared_redis_url};
use offhook_tests::{Database, ObjectServer, Options, Server, must};

use crate::doctor::{failed, findings};
use crate::nodes::faketime;

/// The doctor's finding about a check with these variables: its state and message.
pub(crate) async fn said(
    server: &Server,
    hop: &str,
    variables: &[(&str, &str)],
) -> (String, String) {
    let output = server.run_with(&["doctor", "--json"], variables).await;
    let mut found = findings(&output).into_iter();
    match found.find(|(name, _, _)| name == hop) {
        Some((_, state, sentence)) => (state, sentence),
        None => panic!("nothing was said of {hop}: {output:?}"),
    }
}

/// Runs the doctor with these variables; checks that exactly this check fails with these words.
async fn fails(server: &Server, hop: &str, variables: &[(&str, &str)], words: &[&str]) {
    let output = server.run_with(&["doctor", "--json"], variables).await;
    assert_eq!(output.status.code(), Some(1), "{variables:?}");
    let failed = failed(&output);
    assert_eq!(failed.len(), 1, "{variables:?}: {failed:?}");
    let (name, sentence) = &failed[0];
    assert_eq!(name, hop, "{failed:?}");
    for word in words {
        assert!(sentence.contains(word), "{word}: {sentence}");
    }
    assert!(!sentence.contains('\n'), "{sentence}");
    let shown = String::from_utf8_lossy(&output.stdout);
    for secret in ["hunter2", "hunter3", "a secret of the test's own"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: just test"]
async fn a_redis_that_counts_is_well_and_one_that_cannot_is_named_with_its_remedy() {
    const REDIS: &str = "OFFHOOK_REDIS_URL";
    let server = Server::start(Options::on(Database::Sqlite)).await;
    let (state, sentence) = said(&server, "redis", &[]).await;
    assert_eq!(
        (state.as_str(), &sentence[..4]),
        ("ok", "none"),
        "{sentence}"
    );

    let mut redis = RedisServer::start().await;
    let (address, url) = (redis.address().to_string(), redis.url());
    let (state, sentence) = said(&server, "redis", &[(REDIS, &url)]).await;
    assert_eq!(state, "ok", "{sentence}");
    assert!(
        sentence.contains(&format!("at {address} counts and forgets nothing")),
        "{sentence}"
    );
    redis.say("CONFIG SET maxmemory-policy allkeys-lru").await;
    let (state, sentence) = said(&server, "redis", &[(REDIS, &url)]).await;
    assert_eq!(state, "warning", "{sentence}");
    assert!(sentence.contains("set `maxmemory-policy noeviction`"));

    // A user who may only read, one with the documented permissions, and a wrong password.
    for user in [
        "ACL SETUSER looker on >hunter2 +@connection +info +time ~ratelimit:*",
        "ACL SETUSER offhook on >hunter2 +@connection +evalsha +eval +script|load +info +get +set +time ~ratelimit:*",
    ] {
        let made = redis.say(user).await;
        assert!(made.starts_with("+OK"), "{made}");
    }
    let as_user = |user: &str, password: &str| format!("redis://{user}:{password}@{address}");
    let looker = as_user("looker", "hunter2");
    let words = [
        address.as_str(),
        "does not run the script that counts requests",
        "the rights",
    ];
    fails(&server, "redis", &[(REDIS, &looker)], &words).await;
    let (state, sentence) =
        said(&server, "redis", &[(REDIS, &as_user("offhook", "hunter2"))]).await;
    assert_eq!(state, "warning", "it may count: {sentence}");
    let words = [
        address.as_str(),
        "does not let this user in",
        "correct the user and the password",
    ];
    let wrong = as_user("offhook", "hunter3");
    fails(&server, "redis", &[(REDIS, &wrong)], &words).await;
    redis.say("CONFIG SET requirepass hunter2").await;
    fails(&server, "redis", &[(REDIS, &url)], &words).await;

    redis.kill();
    let words = [
        address.as_str(),
        "does not answer",
        "see that it runs and can be reached",
    ];
    fails(&server, "redis", &[(REDIS, &wrong)], &words).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn a_machine_whose_clock_is_off_is_told_by_redis_and_by_the_database() {
    let server = Server::start(Options::on(Database::postgres().await)).await;
    let url = shared_redis_url();
    for (by, word) in [
        ("+1h", "ahead of the database's"),
        ("-1h", "behind the database's"),
    ] {
        let variables = [
            ("LD_PRELOAD", faketime()),
            ("FAKETIME", by.to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("NO_FAKE_STAT", "1".to_owned()),
            ("OFFHOOK_REDIS_URL", url.clone()),
        ];
        let variables = variables
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        let output = server.run_with(&["doctor", "--json"], &variables).await;
        let failed = failed(&output);
        let hops: Vec<&str> = failed.iter().map(|(hop, _)| hop.as_str()).collect();
        assert_eq!(hops, ["clock", "redis"], "{failed:?}");
        assert!(failed[0].1.contains(word), "{failed:?}");
        assert!(failed[1].1.contains("this machine's"), "{failed:?}");
        for (_, sentence) in &failed {
            assert!(sentence.contains("chrony"), "{sentence}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_of_files_is_tried_out_and_one_that_cannot_be_written_is_named() {
    const OBJECTS: &str = "OFFHOOK_STORAGE__OBJECTS";
    let server = Server::start(Options::on(Database::Sqlite)).await;
    let files = must("a directory", tempfile::tempdir());
    let path = files.path().to_string_lossy().into_owned();
    for variables in [&[][..], &[(OBJECTS, path.as_str())]] {
        let (state, sentence) = said(&server, "objects", variables).await;
        assert_eq!(state, "ok", "{sentence}");
        assert!(sentence.ends_with("a file was written, read and deleted"));
    }
    let left = must("its files", std::fs::read_dir(files.path()));
    assert_eq!(left.count(), 0, "nothing is left of it");

    // Fails even for root: a file has no subdirectory, and /sys takes no files.
    let file = files.path().join("file");
    must("a file", std::fs::write(&file, ""));
    let below = file.join("objects").to_string_lossy().into_owned();
    for place in [below.as_str(), "/sys"] {
        let words = [place, "a directory which this user may write in"];
        fails(&server, "objects", &[(OBJECTS, place)], &words).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_is_tried_out_and_what_is_wrong_with_it_is_named() {
    let objects = ObjectServer::start().await;
    let server = Server::start(objects.used_by(Options::on(Database::Sqlite))).await;
    let at = format!("at http://{}", objects.address());
    let (state, sentence) = said(&server, "objects", &[]).await;
    assert_eq!(state, "ok", "{sentence}");
    assert!(
        sentence.starts_with(&format!("s3://files/offhook/test {at}: ")),
        "{sentence}"
    );
    assert_eq!(objects.keys(""), [""; 0], "nothing is left of it");

    let bucket = [("OFFHOOK_STORAGE__OBJECTS", "s3://nowhere/offhook")];
    let words = [
        "s3://nowhere/offhook",
        &at,
        "NoSuchBucket",
        "make the bucket `nowhere`",
    ];
    fails(&server, "objects", &bucket, &words).await;
    for variable in [
        "OFFHOOK_STORAGE__S3__ACCESS_KEY_ID",
        "OFFHOOK_STORAGE__S3__SECRET_ACCESS_KEY",
    ] {
        let words = [at.as_str(), "403", "correct `storage.s3.access_key_id`"];
        fails(&server, "objects", &[(variable, "another")], &words).await;
    }
    objects.go_down();
    let words = [
        at.as_str(),
        "see that the store runs",
        "`storage.s3.endpoint`",
    ];
    fails(&server, "objects", &[], &words).await;
}
