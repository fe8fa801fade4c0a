//! Pages of 20,000 voices with filters, beside the page without any: in the service, whose memory holds the list.

use std::time::Instant;

use offhook_domain::{
    AccountId, Clock as _, CredentialProvider, Plan, Voice, VoiceGender, VoiceProvider, VoiceSource,
};
use offhook_services::{Services, SystemClock, VoiceFilter, VoicePlace};
use offhook_storage::{AccountVoice, VoiceCredential};

use super::Bench;
use crate::database::{Database, Kind};
use crate::pairs::compare;
use crate::report::{Report, Target, number};
use crate::seed;

const VOICES: usize = 20_000;
const LIMIT: u32 = 20;
/// Voices of an account's own.
const OWN: usize = 100;
/// Pages that are read in one round.
const TIMES: u32 = 64;

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for kind in bench.databases() {
        on(kind, bench, report).await?;
    }
    Ok(())
}

async fn on(kind: Kind, bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let database = Database::new(kind, &bench.postgres, "voices").await?;
    let services = seed::open(&database).await?;
    let at = SystemClock.now();
    let accounts = services.accounts();
    let account = accounts.create("Voices", Plan::Scale, None, None, None);
    let account = account.await?.id;
    for (number, provider) in PROVIDERS.into_iter().enumerate() {
        let rows = (0..VOICES).filter(|voice| voice % 3 == number);
        let rows = rows.map(|number| voice(number, provider)).collect();
        services.store().replace_voices(provider, rows, at).await?;
    }
    walk(&services, kind, account, "", bench, report).await?;
    own(&services, account).await?;
    let words = format!(", {OWN} of them the account's own");
    walk(&services, kind, account, &words, bench, report).await?;
    drop(services);
    database.remove().await
}

/// Compares pages with every filter with the one without any; `whose` is the words for what the account has of its own.
async fn walk(
    services: &Services,
    kind: Kind,
    account: AccountId,
    whose: &str,
    bench: &Bench,
    report: &mut Report,
) -> anyhow::Result<()> {
    let none = VoiceFilter::default();
    let all = services
        .voices()
        .list(account, &none, None, u32::MAX)
        .await?;
    let deep = all.items.get(VOICES * 2 / 3).map(|listed| &listed.place);
    let mut worst: Option<(f64, String)> = None;
    for (name, filter) in filters() {
        for (page, after) in [("first", None), ("deep", deep)] {
            let rows = services
                .voices()
                .list(account, &filter, after, LIMIT)
                .await?;
            let pair = compare(
                bench.rounds,
                async || pages(services, account, &filter, after).await,
                async || pages(services, account, &none, None).await,
            )
            .await?;
            let words = format!(
                "{name}, {page} page of {}: {} = {} µs / {} µs",
                rows.items.len(),
                number(pair.ratio),
                number(pair.a),
                number(pair.b)
            );
            eprintln!("  {}: {words}", kind.name());
            if worst.as_ref().is_none_or(|(ratio, _)| pair.ratio > *ratio) {
                worst = Some((pair.ratio, words));
            }
        }
    }
    if let Some((ratio, words)) = worst {
        let name = format!(
            "worst page of 20,000 voices{whose} with filters / without, {}",
            kind.name()
        );
        report.add(&name, Target::AtMost(2.0), ratio, "", &words);
    }
    Ok(())
}

/// Gives the account voices of its own.
async fn own(services: &Services, account: AccountId) -> anyhow::Result<()> {
    let (at, store) = (SystemClock.now(), services.store());
    let word = CredentialProvider::VoicesA;
    let credential = store.set_credential(account, word, "key", at).await?;
    let of = VoiceCredential {
        id: credential.id,
        account,
        provider: VoiceProvider::A,
    };
    let rows = (0..OWN).map(|number| own_voice(voice(number * 7, VoiceProvider::A)));
    let replaced = store.replace_account_voices(of, rows.collect(), (at, at));
    anyhow::ensure!(replaced.await?.is_some(), "the credential is gone");
    Ok(())
}

fn own_voice(row: Voice) -> AccountVoice {
    let kept = serde_json::json!({
        "name": row.name, "gender": row.gender, "age": row.age, "accent": row.accent, "language": row.language,
        "languages": [row.language], "locales": [], "description": row.description, "use_case": row.use_case,
        "preview_url": row.preview_url, "model_compat": [],
    });
    AccountVoice {
        provider: row.provider,
        voice_id: format!("own-{}", row.voice_id),
        voice: kept.to_string(),
    }
}

/// Microseconds that a page takes.
async fn pages(
    services: &Services,
    account: AccountId,
    filter: &VoiceFilter,
    after: Option<&VoicePlace>,
) -> anyhow::Result<f64> {
    let began = Instant::now();
    for _ in 0..TIMES {
        services
            .voices()
            .list(account, filter, after, LIMIT)
            .await?;
    }
    Ok(began.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES))
}

const PROVIDERS: [VoiceProvider; 3] = [VoiceProvider::A, VoiceProvider::B, VoiceProvider::C];
const GIVEN: [&str; 8] = [
    "Ana", "Bruno", "Carla", "Diego", "Elena", "Felipe", "Gloria", "Hugo",
];
const KINDS: [&str; 5] = ["Warm", "Deep", "Calm", "Bright", "Story"];

/// Half of the voices speak English, a quarter Spanish, one in a hundred Catalan, one in ten thousand Quechua; the rare
/// ones come late in the list.
fn voice(number: usize, provider: VoiceProvider) -> Voice {
    let language = match number {
        n if n % 10_000 == 9_999 => "qu",
        n if n % 100 == 98 => "ca",
        n if n % 4 == 0 => "es",
        n if n % 2 == 1 => "en",
        _ => "pt",
    };
    let gender = match number % 200 {
        199 => VoiceGender::Neutral,
        n if n % 3 == 0 => VoiceGender::Male,
        _ => VoiceGender::Female,
    };
    let rare = if number % 10_000 == 7_777 {
        " Quetzal"
    } else {
        ""
    };
    Voice {
        provider,
        voice_id: format!("voice-{number:05}"),
        name: format!(
            "{} {} {number}{rare}",
            GIVEN[number % GIVEN.len()],
            KINDS[number % KINDS.len()]
        ),
        gender: Some(gender),
        age: Some("young".to_owned()),
        accent: Some("neutral".to_owned()),
        language: Some(language.to_owned()),
        languages: vec![language.to_owned()],
        locales: vec![format!("{language}-XX")],
        description: Some("A voice for conversations on the phone.".to_owned()),
        use_case: Some("conversational".to_owned()),
        preview_url: Some(format!("https://voices.example.com/{number}.mp3")),
        model_compat: vec!["flash".to_owned()],
        source: VoiceSource::Shared,
        owner_id: None,
    }
}

fn filters() -> Vec<(String, VoiceFilter)> {
    let mut filters = Vec::new();
    let mut add = |name: &str, filter: VoiceFilter| filters.push((name.to_owned(), filter));
    let none = VoiceFilter::default;
    let language = |language: &str| Some(language.to_owned());
    for provider in PROVIDERS {
        let name = format!("provider {provider}");
        let provider = Some(provider);
        add(&name, VoiceFilter { provider, ..none() });
    }
    for (name, speaks) in [("50 %", "en"), ("1 %", "ca"), ("0.01 %", "qu"), ("0", "xx")] {
        let filter = VoiceFilter {
            language: language(speaks),
            ..none()
        };
        add(&format!("language {name}"), filter);
    }
    for gender in [VoiceGender::Female, VoiceGender::Neutral] {
        let filter = VoiceFilter {
            gender: Some(gender),
            ..none()
        };
        add(&format!("gender {gender}"), filter);
    }
    for recommended in [true, false] {
        let filter = VoiceFilter {
            recommended: Some(recommended),
            ..none()
        };
        add(&format!("recommended {recommended}"), filter);
    }
    for (name, q) in [
        ("in most names", "a"),
        ("in an eighth", "elena"),
        ("in 0.01 %", "quetzal"),
        ("in none", "zz"),
    ] {
        let q = Some(q.to_owned());
        add(&format!("q {name}"), VoiceFilter { q, ..none() });
    }
    let both = VoiceFilter {
        provider: Some(VoiceProvider::C),
        language: language("es"),
        gender: Some(VoiceGender::Male),
        ..none()
    };
    add("provider, language and gender", both);
    let none_in_common = VoiceFilter {
        language: language("ca"),
        gender: Some(VoiceGender::Neutral),
        ..none()
    };
    add("language and gender, none in common", none_in_common);
    let rare_of_common = VoiceFilter {
        q: Some("a".to_owned()),
        language: language("qu"),
        ..none()
    };
    add("q in most names and language 0.01 %", rare_of_common);
    let halves = VoiceFilter {
        q: Some("elena".to_owned()),
        language: language("en"),
        ..none()
    };
    add("q in an eighth and language 50 %, none in common", halves);
    filters
}
