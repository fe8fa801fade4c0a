//! The operator's commands, and their effects in the API.

use std::time::Duration;

use offhook_tests::{Account, Database, Options, Server, both, must, offhook};
use serde_json::{Value, json};

/// How long a command may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

async fn start(database: Database) -> Server {
    Server::start(Options::on(database)).await
}

/// The error output of a failing command.
async fn refused(server: &Server, arguments: &[&str]) -> String {
    let output = server.run(arguments).await;
    assert!(!output.status.success(), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn member<'a>(how: &'a str, account: &'a Account, email: &'a str) -> Vec<&'a str> {
    let account = account.id.as_str();
    let person = ["--email", email, "--name", "Eva Luz", "--role", "developer"];
    [&["member", how, "--account", account], &person[..]].concat()
}

fn number(account: &str) -> Vec<&str> {
    let add = ["number", "add", "--account", account];
    let what = ["--phone-number", "+5215511112222", "--label", "Desk"];
    [&add[..], &what, &["--provider", "sip"]].concat()
}

fn names(value: &Value) -> Vec<&str> {
    let members = value.as_object().into_iter().flatten();
    members.map(|(name, _)| name.as_str()).collect()
}

both! {
    async fn members_are_added_and_invited_until_no_seat_is_free(database: Database) {
        let server = start(database).await;
        let account = server.account("starter").await;
        let added = server.cli(&member("add", &account, "Eva@Example.com")).await;
        let expected = json!({
            "id": added["id"],
            "account_id": account.id,
            "name": "Eva Luz",
            "email": "eva@example.com",
            "role": "developer",
            "joined_at": added["joined_at"],
            "sign_in_url": added["sign_in_url"],
        });
        assert_eq!(added, expected);
        let opened = added["sign_in_url"].as_str().unwrap_or_default();
        let welcome = format!("http://{}/portal/welcome/", server.address());
        assert_eq!(opened.strip_prefix(&welcome).map(str::len), Some(64), "{opened}");
        let again = refused(&server, &member("add", &account, "eva@example.com")).await;
        assert!(again.contains("--email eva@example.com"), "{again}");
        for email in ["ana@example.com", "luz@example.com"] {
            let invited = server.cli(&member("invite", &account, email)).await;
            let token = invited["token"].as_str().unwrap_or_default();
            assert_eq!(token.len(), 64, "{invited}");
            let url = format!("http://{}/portal/join/{token}", server.address());
            assert_eq!(invited["url"], json!(url));
            let all = ["account_id", "created_at", "email", "expires_at", "id", "name", "role", "token", "url"];
            let mut shown = names(&invited);
            shown.sort_unstable();
            assert_eq!(shown, all);
        }
        let full = refused(&server, &member("invite", &account, "zoe@example.com")).await;
        assert!(full.contains("no seat is free"), "{full}");
        let full = refused(&server, &member("add", &account, "zoe@example.com")).await;
        assert!(full.contains("no seat is free"), "{full}");
        // An invited person takes the seat reserved by the invitation.
        server.cli(&member("add", &account, "ana@example.com")).await;
        let team = account.read("/v1/team/members").await;
        assert_eq!(team["seats"], json!({"used": 3, "max": 3}));
        assert_eq!(team["data"].as_array().map(Vec::len), Some(2));
        let eva = &team["data"][0];
        assert_eq!((&eva["id"], &eva["email"]), (&added["id"], &added["email"]));
        // A person who leaves frees a seat.
        let leave = async |how: &str, email: &str| {
            server.cli(&["member", how, "--account", &account.id, "--email", email]).await
        };
        assert_eq!(leave("withdraw", "luz@example.com").await["email"], "luz@example.com");
        let mut gone = added.clone();
        if let Some(gone) = gone.as_object_mut() {
            gone.remove("sign_in_url");
        }
        let link = server.cli(&["member", "link", "--account", &account.id, "--email", "eva@example.com"]).await;
        let expected = json!({
            "account_id": account.id,
            "email": "eva@example.com",
            "sign_in_url": link["sign_in_url"],
            "turns_off_two_step": false,
        });
        assert_eq!(link, expected);
        assert_ne!(link["sign_in_url"], added["sign_in_url"]);
        assert_eq!(leave("remove", "eva@example.com").await, gone);
        let team = account.read("/v1/team/members").await;
        assert_eq!(team["seats"], json!({"used": 1, "max": 3}));
        assert_eq!(team["data"].as_array().map(Vec::len), Some(1));
        for (how, said) in [("remove", "no member of the account"), ("link", "no member of the account"), ("withdraw", "no pending invitation")] {
            let nobody = ["member", how, "--account", &account.id, "--email", "eva@example.com"];
            let nobody = refused(&server, &nobody).await;
            assert!(nobody.contains("--email eva@example.com") && nobody.contains(said), "{nobody}");
        }
        let stranger = Account { id: "01890000-0000-7000-8000-000000000000".to_owned(), ..account };
        let nowhere = refused(&server, &member("add", &stranger, "a@example.com")).await;
        assert!(nowhere.contains("no such account"), "{nowhere}");
    }

    async fn a_number_that_the_operator_gives_is_what_calls_come_from(database: Database) {
        let server = start(database).await;
        let (account, other) = (server.account("pro").await, server.account("pro").await);
        let added = server.cli(&number(&account.id)).await;
        let mut expected = json!({
            "id": added["id"],
            "phone_number": "+5215511112222",
            "label": "Desk",
            "provider": "sip",
            "agent_id": null,
            "created_at": added["created_at"],
            "updated_at": added["created_at"],
        });
        let list = account.read("/v1/phone-numbers").await;
        assert_eq!(list["data"], json!([expected]));
        expected["account_id"] = json!(account.id);
        assert_eq!(added, expected);
        assert_eq!(other.read("/v1/phone-numbers").await["data"], json!([]));
        let agent = account.agent().await;
        let handle = account.call(&agent, "+5215512345678").await;
        assert_eq!(account.read(&format!("/v1/calls/{handle}")).await["from"], "+5215511112222");
        for again in [&account, &other] {
            let taken = refused(&server, &number(&again.id)).await;
            assert!(taken.contains("number"), "{taken}");
        }
        let nobody = refused(&server, &number("01890000-0000-7000-8000-000000000000")).await;
        assert!(nobody.contains("there is no account"), "{nobody}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_was_misspelt_gets_no_database() {
    let folder = must("a folder", tempfile::tempdir());
    let data = folder.path().join("typo");
    let directory = data.to_str().unwrap_or_default();
    for line in [
        &["account", "list"][..],
        &[
            "key",
            "list",
            "--account",
            "01890000-0000-7000-8000-000000000000",
        ],
        &["knowledge", "status"],
        &["rekey"],
    ] {
        let arguments = [line, &["--data-dir", directory]].concat();
        let output = offhook(&arguments, &[], LIMIT).await;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && errors.contains("there is no database in"),
            "{errors}"
        );
        assert!(!data.exists(), "{line:?}");
    }
    let doctor = offhook(&["doctor", "--data-dir", directory], &[], LIMIT).await;
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(
        said.contains("skipped database: there is no database in"),
        "{said}"
    );
    assert!(!data.exists(), "doctor");
    let make = [
        "account",
        "create",
        "--name",
        "Acme",
        "--plan",
        "pro",
        "--data-dir",
        directory,
    ];
    assert!(offhook(&make, &[], LIMIT).await.status.success());
    let list = offhook(&["account", "list", "--data-dir", directory], &[], LIMIT).await;
    assert!(list.status.success() && String::from_utf8_lossy(&list.stdout).contains("Acme"));
}
