// Colours with a fixed meaning everywhere: after Okabe and Ito, so that colour-blind people can tell them apart.

export const CATEGORIES = [
  'GEMM', 'attention', 'convolution', 'normalisation', 'elementwise', 'reduction', 'optimizer', 'other',
  'communication', 'copy',
];

const LIGHT = {
  GEMM: '#0072b2', attention: '#56b4e9', convolution: '#004d80', normalisation: '#009e73', elementwise: '#7fc8a9',
  reduction: '#cc79a7', optimizer: '#e69f00', other: '#8a8f98', communication: '#d55e00', copy: '#b8a000',
};
const DARK = {
  GEMM: '#4aa3df', attention: '#8fd0f5', convolution: '#2f78ad', normalisation: '#2fc398', elementwise: '#a3dcc4',
  reduction: '#e39cc3', optimizer: '#f2b632', other: '#9aa0aa', communication: '#f08a3c', copy: '#e0cc3d',
};

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === 'dark';
  return matchMedia('(prefers-color-scheme: dark)').matches;
}

export function categoryColor(category) {
  const colors = isDark() ? DARK : LIGHT;
  return colors[category] || colors.other;
}
