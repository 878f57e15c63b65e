// Without the theme's font, so that a reader's own font is used and less is loaded.
import DefaultTheme from "vitepress/theme-without-fonts";
import "./style.css";

export default DefaultTheme;
