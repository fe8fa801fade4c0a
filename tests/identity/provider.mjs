// A real OpenID provider with one client, in which everybody who comes is the same person. It prints its issuer.
//   node provider.mjs CLIENT_ID CLIENT_SECRET REDIRECT_URI EMAIL
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const [client_id, client_secret, redirect_uri, email] = process.argv.slice(2);
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id, client_secret, redirect_uris: [redirect_uri] }],
    claims: { email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: ['a key'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email, email_verified: true, name: 'Ana' }),
    }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    pkce: { required: () => true },
  });
  // The test's client names the host that it asks in a header of proxies.
  provider.proxy = true;
  const interact = async (request, response) => {
    const { prompt, params, session } = await provider.interactionDetails(request, response);
    let result = { login: { accountId: 'somebody' } };
    if (prompt.name === 'consent') {
      const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
      grant.addOIDCScope(params.scope);
      result = { consent: { grantId: await grant.save() } };
    }
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  };
  const answer = provider.callback();
  server.on('request', (request, response) => {
    if (request.url.startsWith('/interaction/')) {
      interact(request, response).catch((error) => response.writeHead(500).end(String(error)));
    } else {
      answer(request, response);
    }
  });
  console.log(issuer);
});
