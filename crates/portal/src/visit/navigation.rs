//! The navigation: grouped sections, the way to the search, and the menu of the person.

use maud::{Markup, Render, html};

use super::layout::{Frame, HOME, Section};
use super::{Visitor, form};
use crate::assets::MARK;
use crate::lang::Lang;
use crate::parts::icon::{HERE, Icon};
use crate::theme::Theme;

/// The name of a group in English and in Spanish, and its sections in order.
type Group = (&'static str, &'static str, &'static [Section]);

const GROUPS: [Group; 4] = [
    (
        "Run",
        "Operar",
        &[
            Section::Overview,
            Section::Conversations,
            Section::Campaigns,
            Section::Batches,
            Section::Dialing,
        ],
    ),
    (
        "Build",
        "Construir",
        &[
            Section::Agents,
            Section::Knowledge,
            Section::Tools,
            Section::Numbers,
            Section::Integrations,
        ],
    ),
    (
        "Developers",
        "Desarrollo",
        &[
            Section::Keys,
            Section::Webhooks,
            Section::Logs,
            Section::Developers,
        ],
    ),
    (
        "Account",
        "Cuenta",
        &[Section::Team, Section::Billing, Section::Settings],
    ),
];

/// The path of the search, behind `/portal`.
pub(crate) const FIND: &str = "/find";

/// Every section of the navigation, in its order.
pub(crate) fn sections() -> impl Iterator<Item = Section> {
    GROUPS
        .iter()
        .flat_map(|(_, _, sections)| sections.iter().copied())
}

/// The mark and the name.
pub(super) fn brand() -> Markup {
    html! {
        a.brand href=(HOME) {
            img src=(MARK.path) alt="" width="24" height="24";
            span { "Offhook" }
        }
    }
}

pub(super) fn navigation(frame: &Frame<'_>, visitor: &Visitor) -> Markup {
    let lang = frame.lang;
    html! {
        header.top {
            (brand())
            span.account { (visitor.person.caller.account.name) }
            (search(lang))
            button.menu type="button" data-menu="" aria-expanded="false" aria-controls="nav" {
                (Icon::MENU) span.unseen { (lang.t("Menu", "Menú")) }
            }
        }
        nav #nav aria-label=(lang.t("Sections", "Secciones")) {
            div.nav-head {
                (brand())
                (search(lang))
            }
            div.nav-groups {
                @for (place, (en, es, sections)) in GROUPS.into_iter().enumerate() {
                    @let id = format!("nav-{place}");
                    p.nav-group #(id) { (lang.t(en, es)) }
                    ul aria-labelledby=(id) {
                        @for section in sections { li { (link(frame, *section)) } }
                        @if sections.contains(&Section::Developers) {
                            li { a href="/docs" { (Icon::REFERENCE) span { (lang.t("API reference", "Referencia de la API")) } } }
                        }
                    }
                }
            }
            (menu(frame, visitor))
        }
        (palette(lang))
    }
}

fn link(frame: &Frame<'_>, section: Section) -> Markup {
    let is_here = frame.section == Some(section);
    html! {
        a href={ (crate::PATH) (section.path()) } aria-current=[is_here.then_some("page")] {
            (section.icon().with_id(is_here.then_some(HERE)))
            span { (section.name(frame.lang)) }
        }
    }
}

/// The way to the search: a link, which the page's script opens as a dialog.
fn search(lang: Lang) -> Markup {
    html! {
        a.search href={ (crate::PATH) (FIND) } data-palette="" {
            (Icon::SEARCH) span { (lang.t("Search", "Buscar")) "…" } kbd aria-hidden="true" { "Ctrl K" }
        }
    }
}

/// The search as a dialog of every page; what it finds is drawn by the server.
fn palette(lang: Lang) -> Markup {
    let label = lang.t("Search", "Buscar");
    html! {
        dialog.palette #palette aria-label=(label) { (search_form(lang, "")) div.hits-of-search {} }
    }
}

/// The form of the search; the page's script shows the hits below it while one types.
pub(crate) fn search_form(lang: Lang, q: &str) -> Markup {
    let label = lang.t(
        "Search pages, agents, numbers and conversations",
        "Busca páginas, agentes, números y conversaciones",
    );
    html! {
        form.find method="get" action={ (crate::PATH) (FIND) } role="search" {
            (Icon::SEARCH)
            input type="search" name="q" value=(q) aria-label=(label) placeholder={ (label) "…" } autocomplete="off" spellcheck="false"
                maxlength="100";
        }
    }
}

/// The person, and what is theirs: profile, accounts, language, theme, the end of the session.
fn menu(frame: &Frame<'_>, visitor: &Visitor) -> Markup {
    let lang = frame.lang;
    let person = &visitor.person;
    let here = visitor.account();
    let others = person.accounts.iter().filter(|(id, _)| *id != here);
    let back = frame.path.as_str();
    let (name, label) = lang.t(("es", "Español"), ("en", "English"));
    html! {
        details.person {
            summary {
                (initials(&person.member.name))
                span.who {
                    span.name { (person.member.name) } " "
                    span.account { (person.caller.account.name) }
                }
                (Icon::MORE)
            }
            div.person-menu {
                a href={ (crate::PATH) (Section::Profile.path()) }
                    aria-current=[(frame.section == Some(Section::Profile)).then_some("page")] {
                    (Section::Profile.icon().with_id((frame.section == Some(Section::Profile)).then_some(HERE))) span { (Section::Profile.name(lang)) }
                }
                @for (id, name) in others {
                    (item(visitor, "/profile/account", &[("account", &id.to_string())], Icon::ACCOUNT, name))
                }
                (item(visitor, "/language", &[("lang", name), ("back", back)], Icon::LANGUAGE, label))
                (form(visitor, "/theme", &html! {
                    input type="hidden" name="back" value=(back);
                    div.themes role="group" aria-label=(lang.t("Theme", "Tema")) {
                        @for theme in Theme::ALL {
                            button type="submit" name="theme" value=(theme.as_str()) aria-pressed=(frame.theme == theme) {
                                (theme_icon(theme)) span { (theme_name(theme, lang)) }
                            }
                        }
                    }
                }))
                (item(visitor, "/sign-out", &[], Icon::SIGN_OUT, lang.t("Sign out", "Cerrar sesión")))
            }
        }
    }
}

/// The first letters of a name's first and last word.
fn initials(name: &str) -> Markup {
    let mut words = name
        .split_whitespace()
        .filter_map(|word| word.chars().next());
    let first = words.next();
    let letters = first.into_iter().chain(words.next_back());
    let letters: String = letters.flat_map(char::to_uppercase).collect();
    html! { span.initials data-letters=(letters) {} }
}

/// A line of the menu that changes something.
fn item(
    visitor: &Visitor,
    path: &str,
    fields: &[(&str, &str)],
    icon: Icon,
    label: impl Render,
) -> Markup {
    form(
        visitor,
        path,
        &html! {
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            button type="submit" { (icon) span { (label) } }
        },
    )
}

const fn theme_icon(theme: Theme) -> Icon {
    match theme {
        Theme::System => Icon::SYSTEM,
        Theme::Light => Icon::LIGHT,
        Theme::Dark => Icon::DARK,
    }
}

const fn theme_name(theme: Theme, lang: Lang) -> &'static str {
    match theme {
        Theme::System => lang.t("System", "Sistema"),
        Theme::Light => lang.t("Light", "Claro"),
        Theme::Dark => lang.t("Dark", "Oscuro"),
    }
}
