//! `account set-plan` lists what the account would lose, and requires `--yes`.

use offhook_tests::{Server, both};

both! {
    async fn a_smaller_plan_is_taken_only_with_a_yes(database: Database) {
        let (server, account) = Server::furnished(database).await;
        let agent = account.agent().await;
        let call = account.call(&agent, "+15005550003").await;
        account.ended(&call).await;
        let small = ["account", "set-plan", "--account", &account.id, "--plan", "free"];
        let refused = server.run(&small).await;
        assert!(!refused.status.success());
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        for part in ["from scale to free", "(0 as of now)", "hidden at once", "knowledge is turned off", "the API is closed", "--yes"] {
            assert!(said.contains(part), "{said}");
        }
        account.read(&format!("/v1/calls/{call}")).await;
        let moved = server.cli(&[&small[..], &["--yes"]].concat()).await;
        assert_eq!(moved["plan"], "free");
        account.get("/v1/calls").await.assert_error(403, "plan_limit");
        // A larger plan loses nothing.
        let large = ["account", "set-plan", "--account", &account.id, "--plan", "enterprise"];
        assert_eq!(server.cli(&large).await["plan"], "enterprise");
        account.read(&format!("/v1/calls/{call}")).await;
        let nobody = "01890000-0000-7000-8000-000000000000";
        let unknown = server.run(&["account", "set-plan", "--account", nobody, "--plan", "pro"]).await;
        assert!(String::from_utf8_lossy(&unknown.stderr).contains("no such account"));
    }
}
