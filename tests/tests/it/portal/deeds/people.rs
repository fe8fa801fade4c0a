//! Signing in: the first account, links, invitations, roles, passwords.

use offhook_tests::{Browser, Options, Person, Server, both, needs_browser};

use super::super::stage::{OWNER, PASSWORD, Stage};
use crate::sign_in::first_code;

deeds! {
    the_first_account_is_made_with_the_code_of_the_log: "/portal/first";
    somebody_is_invited_joins_is_given_another_role_and_leaves: "/portal/team", "/portal/join/{token}";
    a_password_is_set_by_a_link_and_changed_as_is_the_name: "/portal/welcome/{token}", "/portal/profile";
}

/// The chosen password.
const CHOSEN: &str = "un paseo largo por el muelle";

both! {
    async fn the_first_account_is_made_with_the_code_of_the_log(database: Database) {
        needs_browser!();
        let person = Person::on(&database);
        let server = Server::start(Options::on(database)).await;
        let browser = Browser::of(person, server.address()).await;
        // The first visitor is redirected there from any page.
        browser.open("/").await;
        browser.arrives("/portal/first").await;
        browser.fill(("Setup code", "Código de instalación"), "0000-0000-0000-0000").await;
        browser.fill(("Account name", "Nombre de la cuenta"), "Hotel del Puerto").await;
        browser.choose("Plan", "scale").await;
        browser.fill(("Your name", "Tu nombre"), "Ana").await;
        browser.fill(("Your email", "Tu correo electrónico"), OWNER).await;
        browser.fill(("New password", "Contraseña nueva"), CHOSEN).await;
        browser.click(("Create account", "Crear cuenta")).await;
        browser.sees(("Wrong setup code.", "Código de instalación incorrecto.")).await;
        browser.was_refused(422).await;
        // Only the two secrets have to be typed again.
        browser.fill(("Setup code", "Código de instalación"), &first_code(&server)).await;
        browser.fill(("New password", "Contraseña nueva"), CHOSEN).await;
        browser.click(("Create account", "Crear cuenta")).await;
        browser.sees(("Account created.", "Cuenta creada.")).await;
        browser.sees("Hotel del Puerto").await;
        browser.no_violations().await;
        let accounts = server.cli(&["account", "list"]).await;
        assert_eq!(accounts.as_array().map(Vec::len), Some(1));
        assert_eq!(accounts[0]["name"], "Hotel del Puerto");
        assert_eq!(accounts[0]["plan"], "scale");
    }

    async fn somebody_is_invited_joins_is_given_another_role_and_leaves(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let ana = stage.owner(person).await;
        ana.open("/portal/team").await;
        ana.fill(("Email", "Correo electrónico"), "ben@harbour.example").await;
        ana.fill(("Name", "Nombre"), "Ben").await;
        let developer = (
            "Developer: also agents, calls, webhooks and keys",
            "Desarrollador: también agentes, llamadas, webhooks y claves",
        );
        ana.choose(("Role", "Rol"), developer).await;
        ana.click(("Create link", "Crear enlace")).await;
        ana.sees(("Send this link to ben@harbour.example", "Envía este enlace a ben@harbour.example")).await;
        ana.sees(("Pending invitations", "Invitaciones pendientes")).await;
        ana.axe().await;
        let link = ana.text_of(".secret").await;

        let ben = ana.another(person).await;
        ben.open(&link).await;
        ben.sees((
            "You are invited to Harbour Hotel as Developer",
            "Te invitaron a Harbour Hotel como Desarrollador",
        ))
        .await;
        ben.fill(("Your name", "Tu nombre"), "Ben Ortiz").await;
        ben.fill(("Your password", "Tu contraseña"), PASSWORD).await;
        ben.click(("Join", "Unirme")).await;
        ben.sees(("Welcome to the team.", "Te damos la bienvenida al equipo.")).await;
        ben.no_violations().await;

        ana.open("/portal/team").await;
        ana.misses(("Pending invitations", "Invitaciones pendientes")).await;
        ana.choose(("Role of Ben Ortiz", "Rol de Ben Ortiz"), ("Viewer", "Lector")).await;
        ana.click_near("Ben Ortiz", ("Change", "Cambiar")).await;
        ana.sees(("Role changed.", "Rol cambiado.")).await;
        // A session with the previous role has ended.
        ben.open("/portal/agents").await;
        ben.sees(("Email", "Correo electrónico")).await;
        ben.was_refused(401).await;
        ben.fill(("Email", "Correo electrónico"), "ben@harbour.example").await;
        ben.fill(("Password", "Contraseña"), PASSWORD).await;
        ben.click(("Sign in", "Iniciar sesión")).await;
        ben.sees(("No agents yet", "Aún no hay agentes")).await;
        ben.misses(("Create agent", "Crear agente")).await;

        ana.click_near("Ben Ortiz", ("Remove", "Quitar")).await;
        ana.agrees().await;
        ana.sees(("Member removed.", "Miembro quitado del equipo.")).await;
        ana.misses("Ben Ortiz").await;
        ben.reload().await;
        ben.sees(("Email", "Correo electrónico")).await;
        ben.was_refused(401).await;
        ana.no_violations().await;
    }

    async fn a_password_is_set_by_a_link_and_changed_as_is_the_name(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let browser = Browser::of(person, stage.server.address()).await;
        browser.open(&stage.link(OWNER).await).await;
        browser.fill(("New password", "Contraseña nueva"), CHOSEN).await;
        browser.click(("Set password and sign in", "Guardar contraseña e iniciar sesión")).await;
        browser.sees(("Password set.", "Contraseña guardada.")).await;
        browser.open("/portal/profile").await;
        browser.fill(("Your name", "Tu nombre"), " ").await;
        browser.click(("Change name", "Cambiar nombre")).await;
        browser.sees(("The name must have 1 to 120 characters", "El nombre debe tener de 1 a 120 caracteres")).await;
        browser.was_refused(422).await;
        browser.fill(("Your name", "Tu nombre"), "Ana Luz Ortiz").await;
        browser.click(("Change name", "Cambiar nombre")).await;
        browser.sees(("Name changed.", "Nombre cambiado.")).await;
        browser.axe().await;
        browser.open("/portal/team").await;
        browser.sees("Ana Luz Ortiz").await;
        browser.open("/portal/settings/audit").await;
        browser.sees(("Member: name changed", "Miembro: cambió su nombre")).await;
        browser.open("/portal/profile").await;
        browser.fill(("Current password", "Contraseña actual"), CHOSEN).await;
        browser.fill(("New password", "Contraseña nueva"), "otro paseo largo por el muelle").await;
        browser.click(("Change password", "Cambiar contraseña")).await;
        browser.sees(("Password changed.", "Contraseña cambiada.")).await;
        browser.click("Ana Luz Ortiz").await;
        browser.click(("Sign out", "Cerrar sesión")).await;
        browser.arrives("/portal/sign-in").await;
        browser.fill(("Email", "Correo electrónico"), OWNER).await;
        browser.fill(("Password", "Contraseña"), "otro paseo largo por el muelle").await;
        browser.click(("Sign in", "Iniciar sesión")).await;
        browser.sees("Harbour Hotel").await;
        browser.no_violations().await;
    }
}
