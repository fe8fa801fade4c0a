//! `offhook doctor` on the address of WhatsApp's Cloud API. Its tokens belong to the accounts, so the doctor only
//! checks that it refuses a request without a token, as the Graph API does.

use offhook_testkit::fakes::whatsapp::FakeWhatsApp;
use offhook_testkit::upstream::{Fault, UPSTREAM_WORDS};
use offhook_tests::{Database, Options, Server};

use crate::doctor::findings;
use crate::doctor_stores::said;

const ADDRESS: &str = "OFFHOOK_WHATSAPP__BASE_URL";

#[tokio::test(flavor = "multi_thread")]
async fn what_refuses_as_the_cloud_api_does_is_well_and_anything_else_is_told() {
    let server = Server::start(Options::on(Database::Sqlite)).await;
    let hops = findings(&server.run(&["doctor", "--json"]).await);
    assert!(hops.iter().all(|(hop, ..)| hop != "whatsapp"), "{hops:?}");

    let fake = FakeWhatsApp::start().await;
    let address = fake.upstream().base_url();
    let of = async |address: &str| said(&server, "whatsapp", &[(ADDRESS, address)]).await;
    let (state, sentence) = of(&address).await;
    assert_eq!(state, "ok", "{sentence}");
    let asked = fake.upstream().asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0].header("authorization"), None);

    for (fault, told) in [
        (Fault::Status(404), "with status 404, is not the Cloud API"),
        (Fault::Unknown, "with status 200, is not the Cloud API"),
        (Fault::Status(500), "with status 500, is not the Cloud API"),
        (Fault::Close, "the connection was closed before an answer"),
    ] {
        fake.upstream().fail("GET", "/", fault, 1);
        let (state, sentence) = of(&address).await;
        assert_eq!(state, "failed", "{sentence}");
        for part in [told, "see `whatsapp.base_url`"] {
            assert!(sentence.contains(part), "{part}: {sentence}");
        }
        assert!(!sentence.contains(UPSTREAM_WORDS), "{sentence}");
    }
    let (state, sentence) = of("http://127.0.0.1:9").await;
    assert_eq!(state, "failed", "{sentence}");
    assert!(
        sentence.contains("no connection can be opened"),
        "{sentence}"
    );
}
