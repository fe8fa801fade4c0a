//! Coming in: the first account, links, invitations, roles, passwords.

use offhook_tests::{Browser, Options, Person, Server, both, needs_browser};

use super::super::stage::{OWNER, PASSWORD, Stage};
use crate::sign_in::first_code;

deeds! {
    the_first_account_is_made_with_the_code_of_the_log: "/portal/first";
    somebody_is_invited_joins_is_given_another_role_and_leaves: "/portal/team", "/portal/join/{token}";
    a_password_is_set_by_a_link_and_changed_as_is_the_name: "/portal/welcome/{token}", "/portal/profile";
}

/// A password of somebody who reads Spanish.
const CHOSEN: &str = "un paseo largo por el muelle";

both! {
    async fn the_first_account_is_made_with_the_code_of_the_log(database: Database) {
        needs_browser!();
        let server = Server::start(Options::on(database)).await;
        let browser = Browser::of(Person::spanish(), server.address()).await;
        // Whoever comes first is led there from wherever they begin.
        browser.open("/").await;
        browser.arrives("/portal/first").await;
        browser.fill("Código del registro", "0000-0000-0000-0000").await;
        browser.fill("Nombre de la cuenta", "Hotel del Puerto").await;
        browser.choose("Plan", "scale").await;
        browser.fill("Tu nombre", "Ana").await;
        browser.fill("Tu correo electrónico", OWNER).await;
        browser.fill("Contraseña nueva", CHOSEN).await;
        browser.click("Crear la cuenta").await;
        browser.sees("Este no es el código del registro").await;
        browser.was_refused(422).await;
        // Nothing but the two secrets is typed again.
        browser.fill("Código del registro", &first_code(&server)).await;
        browser.fill("Contraseña nueva", CHOSEN).await;
        browser.click("Crear la cuenta").await;
        browser.sees("Tu cuenta está lista.").await;
        browser.sees("Hotel del Puerto").await;
        browser.no_violations().await;
        let accounts = server.cli(&["account", "list"]).await;
        assert_eq!(
            (accounts.as_array().map(Vec::len), &accounts[0]["name"], &accounts[0]["plan"]),
            (Some(1), &"Hotel del Puerto".into(), &"scale".into())
        );
    }

    async fn somebody_is_invited_joins_is_given_another_role_and_leaves(database: Database) {
        needs_browser!();
        let stage = Stage::open(database).await;
        let ana = stage.owner(Person::spanish()).await;
        ana.open("/portal/team").await;
        ana.fill("Correo electrónico", "ben@harbour.example").await;
        ana.fill("Nombre", "Ben").await;
        ana.choose("Rol", "Desarrollador: también agentes, llamadas, webhooks y claves").await;
        ana.click("Crear el enlace").await;
        ana.sees("Envía este enlace a ben@harbour.example").await;
        ana.sees("Invitaciones pendientes").await;
        ana.axe().await;
        let link = ana.text_of(".secret").await;

        let ben = ana.another(Person::english()).await;
        ben.open(&link).await;
        ben.sees("You are invited to Harbour Hotel as Developer").await;
        ben.fill("Your name", "Ben Ortiz").await;
        ben.fill("New password", PASSWORD).await;
        ben.click("Join").await;
        ben.sees("You are in the team.").await;
        ben.no_violations().await;

        ana.open("/portal/team").await;
        ana.misses("Invitaciones pendientes").await;
        ana.choose("Rol de Ben Ortiz", "Lector").await;
        ana.click_near("Ben Ortiz", "Cambiar").await;
        ana.sees("El rol cambió.").await;
        // A session that was of another role has ended.
        ben.open("/portal/agents").await;
        ben.sees("E-mail").await;
        ben.was_refused(401).await;
        ben.fill("E-mail", "ben@harbour.example").await;
        ben.fill("Password", PASSWORD).await;
        ben.click("Sign in").await;
        ben.sees("No agent yet").await;
        ben.misses("New agent").await;

        ana.click_near("Ben Ortiz", "Quitar").await;
        ana.agrees().await;
        ana.sees("El miembro salió del equipo").await;
        ana.misses("Ben Ortiz").await;
        ben.reload().await;
        ben.sees("E-mail").await;
        ben.was_refused(401).await;
        ana.no_violations().await;
    }

    async fn a_password_is_set_by_a_link_and_changed_as_is_the_name(database: Database) {
        needs_browser!();
        let stage = Stage::open(database).await;
        let browser = Browser::of(Person::spanish(), stage.server.address()).await;
        browser.open(&stage.link(OWNER).await).await;
        browser.fill("Contraseña nueva", CHOSEN).await;
        browser.click("Guardar la contraseña e iniciar sesión").await;
        browser.sees("Tu contraseña quedó guardada.").await;
        browser.open("/portal/profile").await;
        browser.fill("Tu nombre", " ").await;
        browser.click("Cambiar el nombre").await;
        browser.sees("El nombre debe tener de 1 a 120 caracteres").await;
        browser.was_refused(422).await;
        browser.fill("Tu nombre", "Ana Luz Ortiz").await;
        browser.click("Cambiar el nombre").await;
        browser.sees("Tu nombre cambió.").await;
        browser.axe().await;
        browser.open("/portal/team").await;
        browser.sees("Ana Luz Ortiz").await;
        browser.open("/portal/settings/audit").await;
        browser.sees("Miembro: cambió su nombre").await;
        browser.open("/portal/profile").await;
        browser.fill("Contraseña actual", CHOSEN).await;
        browser.fill("Contraseña nueva", "otro paseo largo por el muelle").await;
        browser.click("Cambiar la contraseña").await;
        browser.sees("Tu contraseña cambió").await;
        browser.click("Cerrar sesión").await;
        browser.arrives("/portal/sign-in").await;
        browser.fill("Correo electrónico", OWNER).await;
        browser.fill("Contraseña", "otro paseo largo por el muelle").await;
        browser.click("Iniciar sesión").await;
        browser.sees("Harbour Hotel").await;
        browser.no_violations().await;
    }
}
