fetch(location.pathname + "/content").then(answer => answer.json()).then(page => {
  const made = new DOMParser().parseFromString(page.html, "text/html");
  document.title = made.title;
  for (const one of made.head.querySelectorAll("meta[name],meta[property],link,script")) document.head.append(one);
  document.body.replaceChildren(...made.body.childNodes);
});
