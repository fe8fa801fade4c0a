//! The attribute [`boxed`].

use proc_macro::TokenStream;
use quote::quote;
use syn::visit_mut::{VisitMut, visit_type_reference_mut};
use syn::{
    FnArg, GenericParam, ImplItem, ImplItemFn, ItemImpl, Lifetime, ParenthesizedGenericArguments,
    Receiver, ReceiverKind, ReturnType, TypeReference, Visibility, parse_macro_input, parse_quote,
};

/// On an `impl` block: makes its public async functions return a boxed future.
///
/// The body of an async function is compiled in every crate that awaits it. The HTTP API, the portal and the binary all
/// await the same use cases. Boxed, these are compiled once, in the crate that holds them.
#[proc_macro_attribute]
pub fn boxed(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut block = parse_macro_input!(item as ItemImpl);
    for item in &mut block.items {
        if let ImplItem::Fn(function) = item
            && function.sig.asyncness.is_some()
            && matches!(function.vis, Visibility::Public(_))
        {
            boxes(function);
        }
    }
    quote!(#block).into()
}

fn boxes(function: &mut ImplItemFn) {
    let signature = &mut function.sig;
    for input in &mut signature.inputs {
        match input {
            FnArg::Receiver(receiver) => Elided.visit_receiver_mut(receiver),
            FnArg::Typed(argument) => Elided.visit_type_mut(&mut argument.ty),
        }
    }
    for parameter in &mut signature.generics.params {
        match parameter {
            GenericParam::Lifetime(lifetime) => lifetime.bounds.push(parse_quote!('boxed)),
            GenericParam::Type(of) => of.bounds.push(parse_quote!('boxed)),
            GenericParam::Const(_) => {}
        }
    }
    signature.generics.params.insert(0, parse_quote!('boxed));
    let answer = match &signature.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, answer) => quote!(#answer),
    };
    signature.output = parse_quote!(-> ::futures_util::future::BoxFuture<'boxed, #answer>);
    signature.asyncness = None;
    let body = &function.block;
    function.block = parse_quote!({ ::std::boxed::Box::pin(async move #body) });
}

/// Names the lifetimes that an async function elides, because its future carries them.
struct Elided;

impl VisitMut for Elided {
    fn visit_receiver_mut(&mut self, receiver: &mut Receiver) {
        if let ReceiverKind::Reference(_, lifetime, _) = &mut receiver.kind {
            lifetime.get_or_insert_with(|| parse_quote!('boxed));
        }
    }

    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        reference
            .lifetime
            .get_or_insert_with(|| parse_quote!('boxed));
        visit_type_reference_mut(self, reference);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = parse_quote!('boxed);
        }
    }

    /// `Fn(&T)` holds for every lifetime.
    fn visit_parenthesized_generic_arguments_mut(&mut self, _: &mut ParenthesizedGenericArguments) {
    }
}
