//! The people of an account: members, roles, invitations and seats.

use offhook_services::store::{Invitation, Member};
use offhook_services::{Seats, TeamRefusal};

use crate::parts::words::role_name;
use crate::parts::{secret, version};
use crate::prelude::*;
use crate::visit::TOKEN_FIELD;

const SECTION: Section = Section::Team;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/team").get(show),
        Page::at("/team/invitations").post(invite),
        Page::at("/team/invitations/withdraw").post(withdraw),
        Page::at("/team/{id}/role").post(set_role),
        Page::at("/team/{id}/remove").post(remove),
    ]
}

fn title(visitor: &Visitor) -> &'static str {
    SECTION.name(visitor.lang())
}

/// What the page shows after a change or a refusal.
#[derive(Default)]
struct Said<'a> {
    /// Why it was refused.
    refusal: Option<&'a str>,
    /// The input of the refused invitation.
    typed: Option<&'a Fields>,
    /// The refused role, and its member.
    role: Option<(&'a Member, &'a Fields)>,
    /// The id of the new invitation, and its link.
    invited: Option<(InvitationId, &'a str)>,
}

/// `GET /portal/team`; `?invited` is the id of an invitation whose link is shown once.
async fn show(visit: Visit<Viewer>) -> Answer {
    let id: Option<InvitationId> = visit.query().text("invited").parse().ok();
    let token = match id {
        Some(id) => visit.shown_once(id.uuid()).await?,
        None => None,
    };
    let url = token.map(|token| format!("{}{}/join/{token}", visit.base_url(), crate::PATH));
    let said = Said {
        invited: id.zip(url.as_deref()),
        ..Said::default()
    };
    let body = body(&visit, &said).await?;
    Ok(visit.page(SECTION, title(&visit), &body))
}

/// `POST /portal/team/invitations`
async fn invite(post: Post<Admin>) -> Answer {
    let lang = post.lang();
    let fields = &post.fields;
    let typed = (
        fields.text("email").parse::<EmailAddress>(),
        fields.text("role").parse::<MemberRole>(),
    );
    let (Ok(email), Ok(role)) = typed else {
        let message = lang.t(
            "Enter a valid email address, such as ana@example.com.",
            "Escribe un correo válido, como ana@example.com.",
        );
        return refused(&post, message, Some(fields)).await;
    };
    let people = post.services().people();
    match people
        .invite(&post.person, email, fields.text("name"), role)
        .await
    {
        Ok(invited) => {
            let id = invited.invitation.id;
            post.show_once(id.uuid(), &invited.token).await?;
            Ok(post.go(&format!("/team?invited={id}"), ""))
        }
        Err(TeamRefusal::Store(error)) => Err(error.into()),
        Err(why) => refused(&post, &refusal(&why, lang), Some(fields)).await,
    }
}

/// `POST /portal/team/invitations/withdraw`
async fn withdraw(post: Post<Admin>) -> Answer {
    let email = post.fields.text("email").parse();
    let email: EmailAddress = email.map_err(|_| Trouble::not_found())?;
    let withdrawn = post.services().people().withdraw(&post.person, email).await;
    let message = post.t(
        "Invitation withdrawn. Its link no longer works.",
        "Invitación retirada. Su enlace ya no funciona.",
    );
    answered(&post, withdrawn.map(drop), message).await
}

/// `POST /portal/team/{id}/role`
async fn set_role(post: Post<Admin>) -> Answer {
    let (member, t) = (member_of(&post).await?, post.lang());
    // A member who may not change the current role is told so first.
    if post.person.member.role.may_change(member.role)
        && let Some(late) = version::stale(&role_of(&member), &post.fields)
    {
        let message = Said {
            refusal: Some(version::message(t)),
            role: Some((&member, &late)),
            ..Said::default()
        };
        let body = body(&post, &message).await?;
        return Ok(post.refused(SECTION, title(&post), &body));
    }
    let role = post.fields.text("role").parse();
    let role: MemberRole = role.map_err(|_| Trouble::not_found())?;
    let people = post.services().people();
    let set = people.set_role(&post.person, member.id, role).await;
    let message = t.t("Role changed.", "Rol cambiado.");
    answered(&post, set.map(drop), message).await
}

/// The member of the path.
async fn member_of(post: &Post<Admin>) -> Result<Member> {
    let id: MemberId = post.id("id")?;
    let found = post.services().team().member(post.account(), id).await?;
    found.ok_or_else(Trouble::not_found)
}

fn role_of(member: &Member) -> Fields {
    Fields::of([("role", member.role.as_str())])
}

/// `POST /portal/team/{id}/remove`
async fn remove(post: Post<Admin>) -> Answer {
    let member: MemberId = post.id("id")?;
    let removed = post.services().people().remove(&post.person, member).await;
    let message = post.t(
        "Member removed. Their sessions have ended.",
        "Miembro quitado del equipo. Sus sesiones terminaron.",
    );
    answered(&post, removed.map(drop), message).await
}

async fn answered(post: &Post<Admin>, done: Result<(), TeamRefusal>, message: &str) -> Answer {
    match done {
        Ok(()) => Ok(post.go("/team", message)),
        Err(TeamRefusal::Store(error)) => Err(error.into()),
        Err(TeamRefusal::Absent) => Err(Trouble::not_found()),
        Err(TeamRefusal::Forbidden) => Err(Trouble::Role(MemberRole::Owner)),
        Err(why) => refused(post, &refusal(&why, post.lang()), None).await,
    }
}

async fn refused(visitor: &Visitor, message: &str, typed: Option<&Fields>) -> Answer {
    let message = Said {
        refusal: Some(message),
        typed,
        ..Said::default()
    };
    let body = body(visitor, &message).await?;
    Ok(visitor.refused(SECTION, title(visitor), &body))
}

/// Why a team was not changed.
pub(super) fn refusal(why: &TeamRefusal, lang: Lang) -> String {
    let plain = match why {
        TeamRefusal::Forbidden => {
            lang.t("Your role does not allow this.", "Tu rol no permite esto.")
        }
        TeamRefusal::Absent => lang.t(
            "This member or invitation no longer exists.",
            "Ese miembro o esa invitación ya no existe.",
        ),
        TeamRefusal::LastOwner => lang.t(
            "An account needs an owner. Make someone else an owner first.",
            "Una cuenta necesita un propietario. Nombra primero a otra persona.",
        ),
        TeamRefusal::Name => lang.t(
            "The name must have 1 to 120 characters and no control characters.",
            "El nombre debe tener de 1 a 120 caracteres, sin caracteres de control.",
        ),
        TeamRefusal::Member => lang.t(
            "A member already has this email.",
            "Un miembro ya tiene ese correo.",
        ),
        TeamRefusal::Invited(_) => lang.t(
            "This email is already invited. Withdraw that invitation to create a new link.",
            "Ese correo ya está invitado. Retira esa invitación para crear otro enlace.",
        ),
        TeamRefusal::NoSeat { used, max } => {
            return text!(
                lang,
                "No seats left: members and pending invitations use {used} of {max} seats. Remove a member, withdraw an invitation, or ask for a larger plan.",
                "No hay lugares: los miembros e invitaciones pendientes ocupan {used} de {max} lugares. Quita a un miembro, retira una invitación o pide un plan mayor."
            );
        }
        TeamRefusal::Store(_) => lang.t(
            "The database is temporarily unavailable.",
            "La base de datos no está disponible por el momento.",
        ),
    };
    plain.to_owned()
}

async fn body(visitor: &Visitor, message: &Said<'_>) -> Result<Markup> {
    let account = visitor.account();
    let seats_max = visitor.caller().terms.seats_max;
    let page = visitor.page_of(MemberId::from_uuid);
    let team = visitor.services().team();
    let (members, seats) = team.list(account, seats_max, page).await?;
    let invitations = match visitor.may(MemberRole::Admin) {
        true => {
            let people = visitor.services().people();
            people.invitations(&visitor.person).await?
        }
        false => Vec::new(),
    };
    let mut shown = members.items.clone();
    // The member whose role was refused may be on another page.
    if let Some((member, _)) = message.role
        && shown.iter().all(|other| other.id != member.id)
    {
        shown.push(member.clone());
    }
    let invited = message.invited.and_then(|(id, url)| {
        let invitation = invitations.iter().find(|invitation| invitation.id == id);
        Some((invitation?, url))
    });
    Ok(html! {
        @if let Some((invitation, url)) = invited { (link(visitor, invitation, url)) }
        @if message.typed.is_none() { (form::refusal(message.refusal)) }
        (seats_told(visitor, seats))
        (table(visitor, &shown, message))
        (list::more(visitor, &members, |member| (member.joined_at, member.id.uuid())))
        @if !invitations.is_empty() { (pending(visitor, &invitations)) }
        @if visitor.may(MemberRole::Admin) {
            (invitation_form(visitor, message))
        } @else {
            p.hint { (visitor.t(
                "Only owners and admins can change the team.",
                "Solo los propietarios y administradores pueden cambiar el equipo.",
            )) }
        }
    })
}

fn seats_told(visitor: &Visitor, seats: Seats) -> Markup {
    let (t, used) = (visitor.lang(), seats.used);
    let sentence = match seats.max {
        Some(max) => text!(
            t,
            "{used} of {max} seats used.",
            "{used} de {max} lugares ocupados."
        ),
        None => text!(
            t,
            "{used} seats used; the plan has no limit.",
            "{used} lugares ocupados; el plan no tiene límite."
        ),
    };
    html! { p { (sentence) } }
}

/// The link of an invitation, shown once.
fn link(visitor: &Visitor, invitation: &Invitation, url: &str) -> Markup {
    let t = visitor.lang();
    html! {
        section aria-labelledby="invited" {
            h2 #invited tabindex="-1" { (t.t("Send this link to ", "Envía este enlace a ")) (invitation.email) }
            (secret::once(t, "link", Some(url), t.t(
                "If you lose it, withdraw the invitation and invite again.",
                "Si lo pierdes, retira la invitación e invita de nuevo.",
            )))
            p { (t.t(
                "Anyone who opens it can join the team, until ",
                "Quien lo abra puede unirse al equipo, hasta ",
            )) (words::when(invitation.expires_at)) "." }
        }
    }
}

fn table(visitor: &Visitor, members: &[Member], message: &Said<'_>) -> Markup {
    let t = visitor.lang();
    let (me, may) = (&visitor.person.member, visitor.may(MemberRole::Admin));
    let is_mine = |member: &Member| may && me.role.may_change(member.role);
    html! {
        (Table::of(t.t("Members", "Miembros"), members)
            .column(t.t("Name", "Nombre"), |member| html! {
                (member.name) @if member.id == me.id { " " (words::badge(words::Tone::Plain, t.t("you", "tú"))) }
            })
            .column(t.t("Email", "Correo electrónico"), |member| member.email.as_str())
            .column(t.t("Role", "Rol"), |member| html! {
                @if is_mine(member) { (role_form(visitor, member, message)) } @else { (role_name(member.role, t)) }
            })
            .column(t.t("Joined", "Se unió"), |member| words::when(member.joined_at))
            .column_if(may, t.t("Action", "Acción"), |member| html! { @if is_mine(member) { (removal(visitor, member)) } }))
    }
}

/// The roles that the visitor may assign.
fn roles(visitor: &Visitor) -> impl Iterator<Item = MemberRole> {
    let mine = visitor.person.member.role;
    MemberRole::ALL
        .iter()
        .copied()
        .filter(move |role| mine.may_change(*role))
}

fn role_form(visitor: &Visitor, member: &Member, message: &Said<'_>) -> Markup {
    let t = visitor.lang();
    let stored = version::stamped(role_of(member));
    let typed = message.role.filter(|(other, _)| other.id == member.id);
    let fields = typed.map_or(&stored, |(_, typed)| typed);
    html! {
        form.bar-of-actions method="post" action={ (crate::PATH) "/team/" (member.id) "/role" } {
            input type="hidden" name=(TOKEN_FIELD) value=(visitor.form_token());
            (version::hidden(fields))
            select name="role" aria-label=(text!(t, "Role of {}", "Rol de {}", member.name)) {
                @for role in roles(visitor) {
                    option value=(role.as_str()) selected[role.as_str() == fields.text("role")] { (role_name(role, t)) }
                }
            }
            button type="submit" { (t.t("Change", "Cambiar")) }
        }
    }
}

fn removal(visitor: &Visitor, member: &Member) -> Markup {
    let question = text!(
        visitor.lang(),
        "Remove {} from the team? Their sessions end immediately.",
        "¿Quitar a {} del equipo? Sus sesiones terminan de inmediato.",
        member.name
    );
    let path = format!("/team/{}/remove", member.id);
    form::danger(visitor, &path, visitor.t("Remove", "Quitar"), &question)
}

fn pending(visitor: &Visitor, invitations: &[Invitation]) -> Markup {
    let t = visitor.lang();
    let caption = t.t("Pending invitations", "Invitaciones pendientes");
    let withdrawal = |invitation: &Invitation| {
        let (label, fields) = (
            t.t("Withdraw", "Retirar"),
            [("email", invitation.email.as_str())],
        );
        form::button(visitor, "/team/invitations/withdraw", label, &fields)
    };
    html! {
        h2 { (caption) }
        (Table::of(caption, invitations)
            .column(t.t("Name", "Nombre"), |invitation| &invitation.name)
            .column(t.t("Email", "Correo electrónico"), |invitation| invitation.email.as_str())
            .column(t.t("Role", "Rol"), |invitation| role_name(invitation.role, t))
            .column(t.t("Expires", "Vence"), |invitation| words::when(invitation.expires_at))
            .column(t.t("Action", "Acción"), |invitation| html! {
                @if visitor.person.member.role.may_change(invitation.role) { (withdrawal(invitation)) }
            }))
    }
}

fn invitation_form(visitor: &Visitor, message: &Said<'_>) -> Markup {
    let t = visitor.lang();
    let none = Fields::default();
    let typed = message.typed.unwrap_or(&none);
    let usual = MemberRole::Developer.as_str();
    let options = roles(visitor).map(|role| {
        let does = match role {
            MemberRole::Owner => t.t("Owner: everything", "Propietario: todo"),
            MemberRole::Admin => t.t(
                "Admin: also team, credentials and integrations",
                "Administrador: también equipo, credenciales e integraciones",
            ),
            MemberRole::Developer => t.t(
                "Developer: also agents, calls, webhooks and keys",
                "Desarrollador: también agentes, llamadas, webhooks y claves",
            ),
            MemberRole::Viewer => t.t("Viewer: read-only", "Lector: solo lectura"),
        };
        (role.as_str(), does)
    });
    html! {
        section aria-labelledby="invite" {
            h2 #invite { (t.t("Invite a teammate", "Invitar a una persona")) }
            @if message.typed.is_some() { (form::refusal(message.refusal)) }
            p { (t.t(
                "You get a link to send. It is valid for seven days and uses a seat.",
                "Obtienes un enlace para enviar. Vale siete días y ocupa un lugar.",
            )) }
            (form::form(visitor, "/team/invitations", &html! {
                (Input::text("email", t.t("Email", "Correo electrónico")).kind("email").value(typed.text("email")).required())
                (Input::text("name", t.t("Name", "Nombre")).value(typed.text("name")).required())
                (Select::new("role", t.t("Role", "Rol")).options(options).chosen(typed.get("role").unwrap_or(usual)))
                button.primary type="submit" { (t.t("Create link", "Crear enlace")) }
            }))
        }
    }
}
