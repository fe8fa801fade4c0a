//! Every operation of the integrations with every fault.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use offhook_domain::ports::{Application, Grant, GrantError};
use offhook_providers::{ApplicationSettings, application_within, applications};
use offhook_testkit::fakes::cal_com::{BOOKINGS_PATH, EVENT_TYPES_PATH, FakeCalCom, SLOTS_PATH};
use offhook_testkit::fakes::calendar::{API_PATH, BUSY_PATH, EVENTS_PATH, FakeCalendar};
use offhook_testkit::fakes::crm::{CALLS_PATH, FakeCrm, SEARCH_PATH};
use offhook_testkit::fakes::oauth::{Authority, REVOKE_PATH, TOKEN_PATH};
use offhook_testkit::fakes::sheets::{self, FakeSheets};
use offhook_testkit::fakes::slack::{FakeSlack, POST_PATH};
use offhook_testkit::upstream::{Answer, Fault, UPSTREAM_WORDS, Upstream};
use serde_json::{Value, json};

use super::cal_com::{EVENT_TYPE_PATH, SLOT, wish};
use super::{BACK, calendar, call, consent, granted, settings};

/// The message to the model.
#[derive(Clone, Copy)]
enum Word {
    Done,
    Silent,
    Form,
    NobodyKnows,
    Gone,
    Unauthorized,
    Status(u16),
    Often,
    Pause,
}

impl Word {
    fn is_said(self, answer: &Result<Value, String>) -> bool {
        let said = match answer {
            Ok(done) => return matches!(self, Self::Done) && done["booked"] == true,
            Err(said) => said,
        };
        match self {
            Self::Done => false,
            Self::Silent => said.contains("did not answer"),
            Self::Form => said.contains("in a form that cannot be read"),
            Self::NobodyKnows => said.contains("or not. Do not try again"),
            Self::Gone => said.contains("nothing was booked"),
            Self::Unauthorized => said == "unauthorized",
            Self::Status(404) if said.contains("no such event type") => true,
            Self::Status(status) => said.contains(&format!("refused with HTTP status {status}.")),
            Self::Often => said.contains("asked too often at the moment."),
            Self::Pause => said.contains("it wants a pause of 7 s."),
        }
    }
}

/// The effect of a request.
#[derive(Clone, Copy, PartialEq)]
enum Does {
    /// It only reads.
    Looks,
    /// It acts, and no later request can tell whether it did.
    Acts,
    /// It books, with an id that can be looked up.
    Books,
}

/// Faults, and the message for a read, an action and a booking.
const FAULTS: [(Fault, [Word; 3]); 15] = {
    use Word::{Done, Form, Gone, NobodyKnows, Often, Pause, Silent, Status, Unauthorized};
    [
        (Fault::Close, [Silent, NobodyKnows, NobodyKnows]),
        (Fault::LoseAnswer, [Silent, NobodyKnows, Done]),
        (Fault::CutBody, [Silent, NobodyKnows, Done]),
        (Fault::Malformed, [Form, NobodyKnows, Done]),
        (Fault::Unknown, [Form, NobodyKnows, Done]),
        (Fault::Status(302), [Status(302), Status(302), Status(302)]),
        (
            Fault::Status(401),
            [Unauthorized, Unauthorized, Unauthorized],
        ),
        (Fault::Status(403), [Status(403), Status(403), Status(403)]),
        (Fault::Status(404), [Status(404), Status(404), Status(404)]),
        (Fault::Status(408), [Status(408), NobodyKnows, NobodyKnows]),
        (Fault::Status(409), [Status(409), Status(409), Gone]),
        (Fault::Status(422), [Status(422), Status(422), Status(422)]),
        (Fault::Status(429), [Often, Often, Often]),
        (Fault::RetryAfter(429, 7), [Pause, Pause, Pause]),
        (Fault::Status(500), [Status(500), NobodyKnows, NobodyKnows]),
    ]
};

/// A request of an integration's function.
struct Operation {
    toolkit: &'static str,
    function: &'static str,
    request: (&'static str, &'static str),
    arguments: Value,
    does: Does,
}

fn operations() -> Vec<Operation> {
    let of = |key: &'static str, method, path, arguments: &Value, does| {
        let (toolkit, function) = key.split_once('.').unwrap();
        Operation {
            toolkit,
            function,
            request: (method, path),
            arguments: arguments.clone(),
            does,
        }
    };
    let (slots, book) = ("google_calendar.free_slots", "google_calendar.book");
    let day = json!({"date": "2026-12-01"});
    let visit = json!({"start": "2026-12-01T10:00", "title": "Max"});
    let moe = json!({"query": "moe"});
    let hello = json!({"contact_id": "1", "summary": "Hello"});
    let free = json!({"event_type_id": 42, "date": "2026-12-01", "time_zone": "UTC"});
    let max = wish();
    let post = json!({"channel": "leads", "text": "Hello"});
    let find = json!({"spreadsheet_id": sheets::SPREADSHEET});
    let row = json!({"spreadsheet_id": sheets::SPREADSHEET, "sheet": sheets::SHEET, "values": {"Name": "Zoe"}});
    let (read, append) = (sheets::READ_PATH, sheets::APPEND_PATH);
    vec![
        of(slots, "GET", EVENTS_PATH, &day, Does::Looks),
        of(slots, "POST", BUSY_PATH, &day, Does::Looks),
        of(book, "GET", EVENTS_PATH, &visit, Does::Looks),
        of(book, "POST", BUSY_PATH, &visit, Does::Looks),
        of(book, "POST", EVENTS_PATH, &visit, Does::Books),
        of(
            "hubspot.find_contact",
            "POST",
            SEARCH_PATH,
            &moe,
            Does::Looks,
        ),
        of("hubspot.log_call", "POST", CALLS_PATH, &hello, Does::Acts),
        of(
            "cal_com.event_types",
            "GET",
            EVENT_TYPES_PATH,
            &json!({}),
            Does::Looks,
        ),
        of("cal_com.free_slots", "GET", SLOTS_PATH, &free, Does::Looks),
        of("cal_com.book", "GET", EVENT_TYPE_PATH, &max, Does::Looks),
        of("cal_com.book", "GET", BOOKINGS_PATH, &max, Does::Looks),
        of("cal_com.book", "POST", BOOKINGS_PATH, &max, Does::Books),
        of("slack.post_message", "POST", POST_PATH, &post, Does::Acts),
        of("google_sheets.find_rows", "GET", read, &find, Does::Looks),
        of("google_sheets.append_row", "GET", read, &row, Does::Looks),
        of("google_sheets.append_row", "POST", append, &row, Does::Acts),
    ]
}

enum Fake {
    Calendar(FakeCalendar),
    Crm(FakeCrm),
    CalCom(FakeCalCom),
    Slack(FakeSlack),
    Sheets(FakeSheets),
}

/// A fake, with an application that has valid tokens.
struct World {
    fake: Fake,
    application: Arc<dyn Application>,
    granted: Grant,
}

/// The application of a toolkit at its fake.
fn at(toolkit: &str, base: &str, limit: Duration) -> Arc<dyn Application> {
    let path = match toolkit {
        "google_calendar" => API_PATH,
        "google_sheets" => sheets::API_PATH,
        _ => "",
    };
    let settings = ApplicationSettings {
        api_url: Some(format!("{base}{path}")),
        ..settings(base)
    };
    application_within(toolkit, &settings, limit).unwrap()
}

const LIMIT: Duration = Duration::from_secs(8);

impl World {
    async fn of(operation: &Operation) -> Self {
        Self::within(LIMIT, operation).await
    }

    /// With this time limit of requests.
    async fn within(limit: Duration, operation: &Operation) -> Self {
        let toolkit = operation.toolkit;
        let fake = match toolkit {
            "google_calendar" => Fake::Calendar(FakeCalendar::start().await),
            "hubspot" => Fake::Crm(FakeCrm::start().await),
            "cal_com" => Fake::CalCom(FakeCalCom::start(&[SLOT]).await),
            "slack" => Fake::Slack(FakeSlack::start().await),
            _ => Fake::Sheets(FakeSheets::start(&[&["Name"]]).await),
        };
        let (upstream, authority, _) = fake.parts();
        let application = at(toolkit, &upstream.base_url(), limit);
        let granted = granted(&*application, authority).await;
        Self {
            fake,
            application,
            granted,
        }
    }

    fn upstream(&self) -> &Upstream {
        self.fake.parts().0
    }

    /// How many actions took effect.
    fn left(&self) -> usize {
        self.fake.parts().2
    }

    async fn call(&self, operation: &Operation) -> Result<Value, String> {
        let (function, arguments) = (operation.function, &operation.arguments);
        call(&*self.application, &self.granted, function, arguments).await
    }
}

impl Fake {
    /// The server, its authorization server, and the number of actions that took effect.
    fn parts(&self) -> (&Upstream, &Authority, usize) {
        match self {
            Self::Calendar(fake) => (&fake.upstream, &fake.authority, fake.events().len()),
            Self::Crm(fake) => (&fake.upstream, &fake.authority, fake.calls().len()),
            Self::CalCom(fake) => (&fake.upstream, &fake.authority, fake.bookings().len()),
            Self::Slack(fake) => (&fake.upstream, &fake.authority, fake.messages().len()),
            Self::Sheets(fake) => (&fake.upstream, &fake.authority, fake.rows().len() - 1),
        }
    }
}

#[tokio::test]
async fn whatever_a_function_meets_is_a_sentence_and_nothing_is_done_twice() {
    for operation in operations() {
        let mut world = World::of(&operation).await;
        for (fault, [looked, done, booked]) in FAULTS {
            if world.left() > 0 {
                world = World::of(&operation).await;
            }
            let (method, path) = operation.request;
            let asked = |world: &World| {
                let asked = world.upstream().asked_of(method, path);
                asked.iter().filter(|asked| asked.path == path).count()
            };
            let before = asked(&world);
            world.upstream().fail(method, path, fault, 1);
            let told = world.call(&operation).await;
            let cell = format!(
                "{}, {method} {path}, {fault:?}: {told:?}",
                operation.function
            );
            let expected = match operation.does {
                Does::Looks => looked,
                Does::Acts => done,
                Does::Books => booked,
            };
            assert!(expected.is_said(&told), "{cell}");
            assert!(!cell.contains(UPSTREAM_WORDS), "{cell}");
            assert_eq!(asked(&world) - before, 1, "{cell}");
            let most = usize::from(operation.does != Does::Looks);
            assert!(world.left() <= most, "{cell}");
        }
    }
}

#[tokio::test]
async fn who_takes_too_long_is_not_waited_for() {
    let mut worlds = Vec::new();
    for operation in operations() {
        let world = World::within(Duration::from_secs(2), &operation).await;
        worlds.push((world, operation));
    }
    let slow = |(world, operation): (World, Operation)| async move {
        let (method, path) = operation.request;
        let long = Fault::Slow(Duration::from_secs(600));
        world.upstream().fail(method, path, long, 1);
        let told = world.call(&operation).await;
        let expected = match operation.does {
            Does::Looks => Word::Silent,
            Does::Acts => Word::NobodyKnows,
            Does::Books => Word::Done,
        };
        assert!(
            expected.is_said(&told),
            "{}, {path}: {told:?}",
            operation.function
        );
    };
    join_all(worlds.into_iter().map(slow)).await;
    let (fake, _, _) = calendar().await;
    let base = fake.upstream.base_url();
    let limit = Duration::from_secs(1);
    let hasty = application_within("google_calendar", &settings(&base), limit).unwrap();
    fake.upstream
        .fail("POST", "/", Fault::Slow(Duration::from_secs(600)), 3);
    let consents = hasty.consents();
    let (exchanged, renewed, revoked) = tokio::join!(
        consents.exchange("c", "v", BACK),
        consents.refresh("r"),
        consents.revoke("r"),
    );
    assert_eq!(exchanged, Err(GrantError::Unreachable));
    assert_eq!(renewed, Err(GrantError::Unreachable));
    assert_eq!(revoked, Err(GrantError::Unreachable));
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    for operation in operations() {
        let world = World::of(&operation).await;
        // The body has all fields that any operation needs, but is too long.
        let huge = json!({
            "timeZone": "UTC", "calendars": {"primary": {"busy": []}}, "id": "1", "status": "confirmed", "total": 0,
            "results": [], "kind": "x".repeat(1_024 * 1_024),
        });
        let upstream = Upstream::start(move |_| Answer::json(200, &huge)).await;
        let base = upstream.base_url();
        let (application, granted) = (at(operation.toolkit, &base, LIMIT), &world.granted);
        let (function, arguments) = (operation.function, &operation.arguments);
        let told = call(&*application, granted, function, arguments).await;
        let expected = match operation.does {
            Does::Acts if function != "append_row" => Word::NobodyKnows,
            _ => Word::Form,
        };
        assert!(expected.is_said(&told), "{function}: {told:?}");
    }
}

#[tokio::test]
async fn where_no_connection_opens_nothing_is_done_and_that_is_said() {
    let plain = FakeCalendar::start().await;
    let base = plain.upstream.base_url();
    plain.upstream.stop();
    // A server without TLS closes the connection.
    let without_tls = FakeCalendar::start().await;
    let secure = without_tls
        .upstream
        .base_url()
        .replace("http://", "https://");
    let granted = Grant {
        access_token: "a".to_owned(),
        refresh_token: None,
        expires_in: None,
    };
    for base in [base, secure] {
        for Operation {
            toolkit,
            function,
            arguments,
            does,
            ..
        } in operations()
        {
            let application = at(toolkit, &base, LIMIT);
            let told = call(&*application, &granted, function, &arguments).await;
            let said = told.unwrap_err();
            let expected = match does {
                Does::Acts if function != "append_row" => "cannot be reached: nothing was",
                // Something is looked up first.
                _ => "did not answer",
            };
            assert!(said.contains(expected), "{function} at {base}: {said}");
        }
        for toolkit in applications() {
            let application = at(toolkit, &base, LIMIT);
            let consents = application.consents();
            let unreachable = GrantError::Unreachable;
            assert_eq!(consents.refresh("r").await, Err(unreachable), "{base}");
            assert_eq!(consents.revoke("r").await, Err(unreachable), "{base}");
            let exchanged = consents.exchange("c", "v", BACK).await;
            assert_eq!(exchanged, Err(unreachable), "{base}");
        }
    }
    assert!(without_tls.upstream.asked().is_empty());
}

#[tokio::test]
async fn whatever_the_token_endpoint_does_is_told_apart_and_asked_once() {
    use GrantError::{Answered, Malformed, Unreachable};
    let fine = None;
    for (fault, expected, revoking) in [
        (Fault::Close, Unreachable, Some(Unreachable)),
        (Fault::LoseAnswer, Unreachable, Some(Unreachable)),
        // The status code says everything.
        (Fault::CutBody, Unreachable, fine),
        (Fault::Malformed, Malformed, fine),
        (Fault::Unknown, Malformed, fine),
        (Fault::Status(401), Answered(401), Some(Answered(401))),
        (Fault::Status(404), Answered(404), Some(Answered(404))),
        (Fault::Status(409), Answered(409), Some(Answered(409))),
        (Fault::Status(422), Answered(422), Some(Answered(422))),
        (Fault::Status(429), Answered(429), Some(Answered(429))),
        (
            Fault::RetryAfter(429, 7),
            Answered(429),
            Some(Answered(429)),
        ),
        (Fault::Status(500), Answered(500), Some(Answered(500))),
    ] {
        let (fake, application, granted) = calendar().await;
        let refresh = granted.refresh_token.clone().unwrap();
        let (code, verifier) = consent(&*application, &fake.authority);
        let consents = application.consents();
        let before = fake.upstream.asked_of("POST", TOKEN_PATH).len();
        fake.upstream.fail("POST", TOKEN_PATH, fault, 2);
        let exchanged = consents.exchange(&code, &verifier, BACK).await;
        assert_eq!(exchanged, Err(expected), "{fault:?}");
        let renewed = consents.refresh(&refresh).await;
        assert_eq!(renewed, Err(expected), "{fault:?}");
        let after = fake.upstream.asked_of("POST", TOKEN_PATH).len();
        assert_eq!(after - before, 2, "{fault:?}");
        assert!(!format!("{expected}").contains(UPSTREAM_WORDS));
        consents.refresh(&refresh).await.unwrap();
        fake.upstream.fail("POST", REVOKE_PATH, fault, 1);
        assert_eq!(consents.revoke(&refresh).await.err(), revoking, "{fault:?}");
        let revoked = fake.upstream.asked_of("POST", REVOKE_PATH).len();
        assert_eq!(revoked, 1, "{fault:?}");
    }
}
