use std::ffi::OsString;
use std::time::Duration;

use offhook_domain::Plan;

use super::{Flags, LogFormat, Settings};

mod calls;
mod twilio;

/// Settings of a file, variables and flags.
fn load(file: &str, variables: &[(&str, &str)], flags: Flags) -> Result<Settings, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("offhook.toml");
    std::fs::write(&path, file).unwrap();
    let flags = Flags {
        config: Some(path),
        ..flags
    };
    let variables = variables
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    Settings::from_parts(flags, variables)
        .map_err(|error| error.0.replace(dir.path().to_str().unwrap(), "DIR"))
}

fn file(text: &str) -> Result<Settings, String> {
    load(text, &[], Flags::default())
}

/// Settings of variables alone.
pub(crate) fn variables(all: &[(&str, &str)]) -> Result<Settings, String> {
    load("", all, Flags::default())
}

/// Each case of these, with a blank line between two, is a file, which may have variables among its lines, and behind `=>`
/// the sentence that refuses it; `…` stands for how that goes on. No sentence repeats what is `hunter2` in the file.
pub(super) fn refuses(cases: &str) {
    for case in cases.trim().split("\n\n") {
        let (given, sentence) = case.split_once("=>").unwrap();
        let lines = given.lines().map(str::trim);
        let (variables, file): (Vec<_>, Vec<_>) =
            lines.partition(|line| line.starts_with("OFFHOOK_") || line.starts_with("AWS_"));
        let variables: Vec<_> = variables
            .iter()
            .filter_map(|line| line.split_once('='))
            .collect();
        let refused = refusal(load(&file.join("\n"), &variables, Flags::default()));
        let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        match sentence.strip_suffix('…') {
            Some(begins) => assert!(refused.starts_with(begins), "{refused}"),
            None => assert_eq!(refused, sentence),
        }
        assert!(!refused.contains("hunter2"), "{refused}");
    }
}

fn refusal(result: Result<Settings, String>) -> String {
    match result {
        Err(sentence) => sentence,
        Ok(settings) => panic!("accepted: {settings:?}"),
    }
}

#[test]
fn without_anything_the_documented_defaults_hold() {
    let settings = Settings::from_parts(Flags::default(), []).unwrap();
    assert_eq!(settings.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.database_file().to_str(), Some("data/offhook.db"));
    assert_eq!(settings.limits.ip_per_minute, 300);
    assert_eq!(settings.limits.call_ip_per_minute, 10);
    assert_eq!(settings.limits.page_ip_per_minute, 3_000);
    assert_eq!(settings.calls.max_queue, Duration::from_secs(120));
    assert_eq!(settings.calls.drain, Duration::from_secs(600));
    assert_eq!(settings.calls.page_share, 50);
    let offsets = settings
        .webhooks
        .retry_offsets
        .map(|offset| offset.as_secs());
    assert_eq!(offsets, [300, 1_800, 7_200]);
    assert_eq!(settings.plans, offhook_domain::Plans::default());
    assert!(!settings.webhooks.allow_private_targets);
    assert!(settings.check_serving().is_ok());
}

#[test]
fn a_flag_wins_over_a_variable_and_a_variable_over_the_file() {
    let text = "listen = \"127.0.0.1:1\"\ndata_dir = \"file\"\n[limits]\nip_per_minute = 7\n";
    let variables = [
        ("OFFHOOK_LISTEN", "127.0.0.1:2"),
        ("OFFHOOK_DATA_DIR", "variable"),
    ];
    let flags = Flags {
        listen: Some("127.0.0.1:3".to_owned()),
        ..Flags::default()
    };
    let settings = load(text, &variables, flags).unwrap();
    assert_eq!(settings.listen.port(), 3);
    assert_eq!(settings.data_dir.to_str(), Some("variable"));
    assert_eq!(settings.limits.ip_per_minute, 7);
}

#[test]
fn every_key_is_a_variable_too() {
    let settings = variables(&[
        ("OFFHOOK_WEBHOOKS__ALLOW_PRIVATE_TARGETS", "true"),
        ("OFFHOOK_WEBHOOKS__RETRY_OFFSETS", "1s, 200ms,1d"),
        (
            "OFFHOOK_HTTP__CORS_ORIGINS",
            "https://a.example.com/,https://b.example.com:8443",
        ),
        (
            "OFFHOOK_HTTP__TRUSTED_PROXIES",
            "10.0.0.0/8,192.0.2.1,fd00::/8",
        ),
        ("OFFHOOK_PLANS__PRO__LIVE_CALLS", "3"),
        ("OFFHOOK_PLANS__STARTER__RETENTION_DAYS", "none"),
        ("OFFHOOK_SIMULATOR__SPEED", "2.5"),
        ("OFFHOOK_CALLS__CARRIER", "simulator"),
        ("OFFHOOK_CALLS__ALLOWED_PREFIXES", "+52,+1500"),
        (
            "OFFHOOK_MODELS__OLLAMA__BASE_URL",
            "http://127.0.0.1:11434/v1",
        ),
        ("OFFHOOK_LOG__FORMAT", "json"),
        ("OFFHOOK_DATABASE_URL", "postgres://h/123"),
        ("OFFHOOK_MASTER_KEY_FILE", "7"),
    ])
    .unwrap();
    assert!(settings.webhooks.allow_private_targets);
    let offsets = settings
        .webhooks
        .retry_offsets
        .map(|offset| offset.as_millis());
    assert_eq!(offsets, [1_000, 200, 86_400_000]);
    let origins = ["https://a.example.com", "https://b.example.com:8443"];
    assert_eq!(settings.http.cors_origins, origins);
    let networks: Vec<_> = settings
        .http
        .trusted_proxies
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(networks, ["10.0.0.0/8", "192.0.2.1/32", "fd00::/8"]);
    assert_eq!(settings.plans.terms(Plan::Pro).live_calls, 3);
    assert_eq!(settings.plans.terms(Plan::Starter).retention_days, None);
    assert_eq!(settings.simulator.speed, Some(2.5));
    assert_eq!(settings.calls.allowed_prefixes, ["+52", "+1500"]);
    assert_eq!(settings.models["ollama"].api_key, None);
    assert_eq!(settings.log_format, LogFormat::Json);
    assert!(settings.is_shared());
    assert_eq!(settings.master_key_file.unwrap().to_str(), Some("7"));
}

#[test]
fn a_file_holds_every_section() {
    let text = r#"
        listen = "0.0.0.0:8443"
        [http]
        public_url = "https://voice.example.com/"
        behind_tls_proxy = true
        trusted_proxies = ["10.0.0.0/8"]
        [plans.enterprise]
        requests_per_minute = 600
        retention_days = 730
        seats_max = "none"
        engine_module = false
        live_calls = 2000
        usd_per_month = 5000
        credits_per_month = "none"
        [prices]
        "openai-gpt-4.1-mini" = 0.35
        legacy = 2
        [webhooks]
        retry_offsets = ["5m", "30m", "2h"]
        auto_disable = true
        [invoices]
        seller_name = "Offhook Ltd"
        seller_address = ["1 Main Street", "London"]
        tax_name = "VAT"
        tax_percent = 20
        [simulator]
        speed = 20
        url = "http://127.0.0.1:8090"
        [models.openai]
        base_url = "https://api.openai.com/v1"
        api_key = "sk-secret"
        [knowledge.embeddings]
        base_url = "http://127.0.0.1:8080/v1"
        model = "small"
        api_key = "sk-secret"
        dimensions = 512
    "#;
    let settings = file(text).unwrap();
    settings.check_serving().unwrap();
    assert_eq!(
        settings.http.public_url.as_deref(),
        Some("https://voice.example.com")
    );
    let prices = settings.plans.prices.iter();
    let prices: Vec<_> = prices
        .map(|(model, price)| (model.as_str(), price.millicredits_per_minute()))
        .collect();
    assert_eq!(prices, [("legacy", 2_000), ("openai-gpt-4.1-mini", 350)]);
    let terms = settings.plans.terms(Plan::Enterprise);
    assert_eq!(terms.retention_days, Some(730));
    assert_eq!((terms.seats_max, terms.credits_per_month), (None, None));
    assert_eq!(
        (terms.usd_per_month, terms.engine_module),
        (Some(5_000), false)
    );
    assert_eq!(settings.simulator.speed, Some(20.0));
    assert_eq!(
        settings.models["openai"].api_key.as_deref(),
        Some("sk-secret")
    );
    let embeddings = settings.embeddings.unwrap();
    assert_eq!(
        (embeddings.base_url.as_str(), embeddings.model.as_str()),
        ("http://127.0.0.1:8080/v1", "small")
    );
    assert_eq!(
        (embeddings.api_key.as_deref(), embeddings.dimensions),
        (Some("sk-secret"), Some(512))
    );
}

#[test]
fn an_unknown_key_is_named_with_the_likely_one() {
    refuses(
        r#"
        webhooks.auto_disabled = true
        => unknown setting `webhooks.auto_disabled` in DIR/offhook.toml: did you mean `webhooks.auto_disable`?

        OFFHOOK_HTTP_PUBLIC_URL=https://x.example.com
        => unknown setting `OFFHOOK_HTTP_PUBLIC_URL` in the environment: did you mean OFFHOOK_HTTP__PUBLIC_URL?

        zebra = 1
        => unknown setting `zebra` in DIR/offhook.toml: remove it

        [zoo]
        => unknown setting `zoo` in DIR/offhook.toml: remove it

        prices.legacy = 0.0001
        => setting `prices.legacy` (in DIR/offhook.toml) must be credits per minute, with three decimals at most

        prices.scriptd = 1
        => unknown setting `prices.scriptd` in DIR/offhook.toml: did you mean `prices.scripted`?

        http.listen = "127.0.0.1:1"
        => unknown setting `http.listen` in DIR/offhook.toml: did you mean `listen`?

        plans.gold.live_calls = 3
        => unknown setting `plans.gold.live_calls` in DIR/offhook.toml: did you mean `plans.pro.live_calls`?

        OFFHOOK_Listen=x
        => unknown setting `OFFHOOK_Listen`…
        "#,
    );
}

#[test]
fn an_empty_section_that_exists_is_no_unknown_key() {
    file("[http]\n[plans.pro]\n[models]").unwrap();
}

#[test]
fn what_kubernetes_and_tests_put_into_the_environment_is_ignored() {
    variables(&[
        ("OFFHOOK_PORT", "tcp://10.0.0.1:80"),
        ("OFFHOOK_PORT_80_TCP_ADDR", "10.0.0.1"),
        ("OFFHOOK_SERVICE_HOST", "10.0.0.1"),
        ("OFFHOOK_FAILPOINT", "place.before_commit:2"),
        ("OFFHOOK_BIN", "/bin/true"),
        ("OFFHOOK_TEST_POSTGRES", "postgres://h"),
        ("OFFHOOKING", "1"),
        ("PATH", "/bin"),
    ])
    .unwrap();
}

#[test]
fn a_wrong_value_is_told_with_its_key_its_place_and_the_remedy() {
    let flags = Flags {
        listen: Some("localhost".to_owned()),
        ..Flags::default()
    };
    assert_eq!(
        refusal(load("", &[], flags)),
        "setting `listen` (from --listen) must be an IP address and a port, such as 127.0.0.1:8080"
    );
    refuses(
        r#"
        calls.max_queue_seconds = "120"
        => setting `calls.max_queue_seconds` (in DIR/offhook.toml) must be a whole number from 1 to 86400

        OFFHOOK_CALLS__DRAIN_SECONDS=ten
        => setting `calls.drain_seconds` (from OFFHOOK_CALLS__DRAIN_SECONDS) must be a whole number from 0 to 86400

        OFFHOOK_WEBHOOKS__AUTO_DISABLE=yes
        => setting `webhooks.auto_disable` (from OFFHOOK_WEBHOOKS__AUTO_DISABLE) must be true or false

        invoices.tax_percent = 16
        => setting `invoices.tax_percent` needs `invoices.seller_name`: name who makes out the invoices, or remove it

        OFFHOOK_DATA_DIR=
        => setting `data_dir` (from OFFHOOK_DATA_DIR) is empty: remove it or give a value

        OFFHOOK_TELEMETRY__SAMPLE=0.1
        => setting `telemetry.sample` needs `telemetry.otlp_endpoint`: name the collector, or remove it

        metrics.listen = "0.0.0.0:9464"
        => setting `metrics.listen` (in DIR/offhook.toml) must be a loopback or private address and a port, such as
           127.0.0.1:9464, as it is served without key and TLS

        OFFHOOK_REDIS_URL=127.0.0.1:6379
        => setting `redis_url` (from OFFHOOK_REDIS_URL) must be such as redis://user:password@host:6379/0, or rediss://…
           for TLS

        webhooks.retry_offsets = ["5m", "30m"]
        => setting `webhooks.retry_offsets` (in DIR/offhook.toml) must be three times, such as ["5m", "30m", "2h"]

        plans.pro.seats_max = 0
        => setting `plans.pro.seats_max` (in DIR/offhook.toml) must be a whole number from 1 to 1000000000, or "none"

        models.mine.api_key = "x"
        => setting `models.mine.base_url` is missing: give the URL that the service's paths follow

        knowledge.embeddings.base_url = "https://api.openai.com/v1"
        => setting `knowledge.embeddings.model` is missing: embeddings need `base_url` and `model`

        OFFHOOK_KNOWLEDGE__EMBEDDINGS__API_KEY=sk-x
        => setting `knowledge.embeddings.base_url` is missing: embeddings need `base_url` and `model`

        http.tls_cert = "cert.pem"
        => setting `http.tls_cert` needs `http.tls_key`: name the file of its private key, or remove both

        OFFHOOK_HTTP__TLS_KEY=key.pem
        => setting `http.tls_key` needs `http.tls_cert`: name the file of the certificate, or remove both

        OFFHOOK_DATABASE_URL=postgre://u:hunter2@h/d
        => setting `database_url` (from OFFHOOK_DATABASE_URL) must begin with postgres://…

        OFFHOOK_DATABASE_URL=sqlite://hunter2
        => setting `database_url` (from OFFHOOK_DATABASE_URL) must begin with postgres://…

        OFFHOOK_DATABASE_URL=hunter2
        => setting `database_url` (from OFFHOOK_DATABASE_URL) must begin with postgres://…

        OFFHOOK_DATABASE_DIRECT_URL=postgres://h/d
        => setting `database_direct_url` needs `database_url`: name the database, or remove it

        OFFHOOK_WHATSAPP__VERSION=24.0
        => setting `whatsapp.version` (from OFFHOOK_WHATSAPP__VERSION) must be a version of the Graph API, such as v24.0
        "#,
    );
    for text in [
        "limits.ip_per_minute = 0",
        "simulator.speed = 0",
        "simulator.speed = nan",
        "http.public_url = \"https://example.com/path\"",
        "http.cors_origins = [\"example.com\"]",
        "http.trusted_proxies = [\"10.0.0.0/33\"]",
        "calls.allowed_prefixes = [\"52\"]",
        "webhooks.retry_offsets = [\"5m\", \"30m\", \"31d\"]",
        "webhooks.retry_offsets = [\"5m\", \"30m\", \"99999999999999999d\"]",
        "models.scripted.base_url = \"http://127.0.0.1\"",
        "models.mine.base_url = \"ftp://127.0.0.1\"",
        "log.format = \"loud\"",
        "whatsapp.version = \"v24\"",
        "whatsapp.version = \"v24.\"",
        "whatsapp.version = \"v24.0/../me\"",
        "listen = 8080",
    ] {
        refusal(file(text));
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let flags = Flags {
        config: Some("/nowhere/offhook.toml".into()),
        ..Flags::default()
    };
    let refused = Settings::from_parts(flags, []).unwrap_err().0;
    assert!(
        refused.starts_with("/nowhere/offhook.toml: cannot be read"),
        "{refused}"
    );
    let refused = refusal(file(
        "listen = \"127.0.0.1:1\"\ndatabase_url = \"postgres://hunter2\" x",
    ));
    assert!(
        refused.starts_with("DIR/offhook.toml: line 2 is no TOML"),
        "{refused}"
    );
    assert!(!refused.contains("hunter2"), "{refused}");
}

#[test]
fn the_file_may_be_named_by_a_variable() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.toml");
    std::fs::write(&path, "limits.ip_per_minute = 5").unwrap();
    let variables = [(OsString::from("OFFHOOK_CONFIG"), path.into_os_string())];
    let settings = Settings::from_parts(Flags::default(), variables).unwrap();
    assert_eq!(settings.limits.ip_per_minute, 5);
}

#[test]
fn private_webhook_targets_need_a_loopback_listener() {
    let text = "listen = \"0.0.0.0:80\"\nhttp.behind_tls_proxy = true\nwebhooks.allow_private_targets = true";
    let refused = file(text).unwrap().check_serving().unwrap_err().0;
    assert!(
        refused.starts_with("setting `webhooks.allow_private_targets` needs a loopback listener")
    );
}

#[test]
fn a_plain_listener_that_others_can_reach_is_refused() {
    let refused = file("listen = \"[::]:80\"")
        .unwrap()
        .check_serving()
        .unwrap_err()
        .0;
    assert!(refused.contains("`http.behind_tls_proxy`"), "{refused}");
    let behind = file("listen = \"[::]:80\"\nhttp.behind_tls_proxy = true").unwrap();
    behind.check_serving().unwrap();
    let text = "listen = \"[::]:443\"\nhttp.tls_cert = \"cert.pem\"\nhttp.tls_key = \"key.pem\"";
    let secure = file(text).unwrap();
    secure.check_serving().unwrap();
    let tls = secure.http.tls.unwrap();
    assert_eq!(
        (tls.cert.to_str(), tls.key.to_str()),
        (Some("cert.pem"), Some("key.pem"))
    );
}

#[test]
fn secrets_do_not_show_in_debug_output() {
    let text = "database_url = \"postgres://u:hunter2@h/d\"\n[models.openai]\n\
                base_url = \"https://api.openai.com/v1\"\napi_key = \"hunter2\"";
    let shown = format!("{:?}", file(text).unwrap());
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(shown.contains("api.openai.com"), "{shown}");
}

#[test]
fn openai_itself_needs_no_address() {
    let settings = file("[models.openai]\napi_key = \"sk-x\"").unwrap();
    let openai = &settings.models["openai"];
    assert_eq!(openai.base_url, "https://api.openai.com/v1");
}

#[test]
fn every_setting_is_on_its_page() {
    let page = include_str!("../../../../docs/CONFIGURATION.md");
    let trunks = include_str!("../../../../docs/guides/voice.md");
    let mut given = super::given::Given::default();
    super::read::settings(&mut given).unwrap();
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    let mut missing = Vec::new();
    for key in &given.known {
        // A row may name several settings, and stands for every plan or provider.
        let segments: Vec<&str> = key.split('.').collect();
        let is_row = |row: &&&str| {
            let name = segments[segments.len() - 1];
            let first = row.split('|').nth(1).unwrap_or_default();
            first.contains(&format!("`{}", segments[0])) && (first.contains(&format!("{name}`")))
        };
        let is_told = match segments[..] {
            ["prices", ..] => page.contains("`prices.<id>`"),
            ["sip", "trunks", _, name] => trunks.contains(&format!("`{name}`")),
            _ => rows.iter().any(|row| is_row(&row)) || page.contains(&format!("`{key}`")),
        };
        if !is_told {
            missing.push(key.as_str());
        }
    }
    assert_eq!(missing, [""; 0]);
}
