//! Calls over Twilio, against a service that speaks as Twilio does.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod desk;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod placing;
#[cfg(test)]
mod told;
